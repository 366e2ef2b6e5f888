"""Who asks over HTTP, from where, and how somebody is refused: for whatever is served on this machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from muxpilot.web.listen import is_loopback

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]


class Refusal(Exception):
    """An answer in place of the protocol's."""

    def __init__(self, status: int, words: str, **headers: str) -> None:
        super().__init__(words)
        self.status = status
        self.headers = {"content-type": "text/plain; charset=utf-8", **headers}

    @property
    def body(self) -> bytes:
        return f"{self}\n".encode()


def check_place(headers: Mapping[bytes, bytes], *, is_local: bool) -> None:
    """A page of somebody else in a browser here cannot choose its Origin, nor the Host of its own name."""
    if is_local and not _is_local_name(headers.get(b"host", b"")):
        raise Refusal(421, "This Host is not served here. Use localhost or 127.0.0.1.")
    origin = headers.get(b"origin")
    if origin is not None and not _is_local_origin(origin):
        raise Refusal(403, "Pages of this Origin are not served.")


def headers_of(scope: Scope) -> Mapping[bytes, bytes]:
    """A header that is there twice is as good as wrong: nothing that we ask for matches both."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        found[name] = found[name] + b", " + value if name in found else value
    return found


def _is_local_name(host: bytes) -> bool:
    try:
        parts = urlsplit(f"//{host.decode('ascii')}")
        _ = parts.port  # a port that is none is refused
    except ValueError:
        return False
    return parts.netloc != "" and parts.username is None and _is_this_machine(parts.hostname)


def _is_local_origin(origin: bytes) -> bool:
    scheme, _, host = origin.partition(b"://")
    return scheme in (b"http", b"https") and _is_local_name(host)


def _is_this_machine(name: str | None) -> bool:
    return name is not None and (name == "localhost" or is_loopback(name))


async def refuse(send: Send, refusal: Refusal) -> None:
    body = refusal.body
    headers = [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
