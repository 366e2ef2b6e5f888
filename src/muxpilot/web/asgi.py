"""Check the Host and Origin of HTTP requests, and refuse requests: for all that muxpilot serves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from muxpilot.trace import area
from muxpilot.web.listen import is_loopback

AsgiScope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[AsgiScope, Receive, Send], Awaitable[None]]

# Most requests name the same host.
_KEPT_NAMES = 64

trace = area("server")


class HttpRefusal(Exception):
    """A request that is not served, with the status and text of the response."""

    def __init__(self, status: int, reason: str, **headers: str) -> None:
        super().__init__(reason)
        self.status = status
        self.headers = {"content-type": "text/plain; charset=utf-8", **headers}

    @property
    def body(self) -> bytes:
        return f"{self}\n".encode()


def check_host_and_origin(headers: Mapping[bytes, bytes], *, is_local: bool) -> None:
    """Refuse requests of foreign web pages (DNS rebinding): a page can forge neither Host nor Origin."""
    if is_local and not _is_local_name(headers.get(b"host", b"")):
        raise HttpRefusal(421, "This Host is not served. Use localhost or 127.0.0.1.")
    origin = headers.get(b"origin")
    if origin is not None and not _is_local_origin(origin):
        raise HttpRefusal(403, "Pages of this Origin are not served.")


def collect_headers(scope: AsgiScope) -> Mapping[bytes, bytes]:
    """Return the headers. The values of a repeated one are joined, so that no check accepts them."""
    found: dict[bytes, bytes] = {}
    for name, given in scope["headers"]:
        value = given.strip(b" \t")  # blanks around a value are not part of it
        found[name] = found[name] + b", " + value if name in found else value
    return found


@lru_cache(_KEPT_NAMES)
def _is_local_name(host: bytes) -> bool:
    try:
        parts = urlsplit(f"//{host.decode('ascii')}")
        _ = parts.port  # raises if it is not a port
    except ValueError:
        return False
    return parts.netloc != "" and parts.username is None and _is_this_machine(parts.hostname)


def _is_local_origin(origin: bytes) -> bool:
    scheme, _, host = origin.partition(b"://")
    return scheme in (b"http", b"https") and _is_local_name(host)


def _is_this_machine(name: str | None) -> bool:
    return name is not None and (name == "localhost" or is_loopback(name))


async def send_refusal(
    send: Send, refusal: HttpRefusal, *, before_end: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Send the response of a refused request. `before_end` runs when the client can read it as a whole."""
    trace.info("request refused", status=refusal.status, reason=refusal)
    body = refusal.body
    headers = [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    if before_end is not None:
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await before_end()
        body = b""
    await send({"type": "http.response.body", "body": body, "more_body": False})
