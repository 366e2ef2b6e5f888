"""What a request passes before the protocol: address, host, origin, token, size. Each has its own answer."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from muxpilot.dispatch import incident
from muxpilot.server.address import is_loopback
from muxpilot.server.pipes import LARGEST_LINE
from muxpilot.server.stdio import parsed

PATH = "/mcp"
METHODS = ("GET", "POST", "DELETE")

# A body that takes longer than this is not waited for.
BODY_S = 30.0

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


class NoMessage(Refusal):
    """The body is no JSON-RPC message; the answer is one."""

    def __init__(self, body: bytes) -> None:
        super().__init__(400, body.decode(), **{"content-type": "application/json"})

    @property
    def body(self) -> bytes:
        return str(self).strip().encode()


class Gate:
    """`token` is asked of everybody if there is one. `is_local`: only this machine can connect.

    A page in a browser on this machine could connect too, by a name of its own that means us (DNS
    rebinding): it cannot choose its Origin, nor the Host that goes with its name. Where other machines can
    connect, we cannot know by which names they do; there the token keeps such a page out.
    """

    def __init__(self, inner: Asgi, *, token: bytes | None, is_local: bool) -> None:
        self._inner = inner
        self._token = token
        self._is_local = is_local
        self._under_way: set[asyncio.Task[Any]] = set()
        self._is_closed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        if scope["type"] != "http" or task is None:
            return
        self._under_way.add(task)
        try:
            await self._pass(scope, receive, send)
        except asyncio.CancelledError:
            if not self._is_closed:
                raise
        finally:
            self._under_way.discard(task)

    def close(self) -> None:
        """Nobody passes any more, and who is inside leaves."""
        self._is_closed = True
        for task in self._under_way:
            task.cancel()

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def told(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            self._check(scope)
            if scope["method"] == "POST":
                receive = await _with_body(scope, receive)
            await self._inner(scope, receive, told)
        except Refusal as refusal:
            await _answer(send, refusal)
        except Exception:  # noqa: BLE001 - a mistake of ours must not end the server
            words = incident(f"{scope['method']} {PATH}")
            if not begun:
                await _answer(send, Refusal(500, words))

    def _check(self, scope: Scope) -> None:
        headers = _headers(scope)
        if self._is_local and not _is_local_name(headers.get(b"host", b"")):
            raise Refusal(421, "This Host is not served here. Use localhost or 127.0.0.1.")
        origin = headers.get(b"origin")
        if origin is not None and not _is_local_origin(origin):
            raise Refusal(403, "Pages of this Origin are not served.")
        if self._token is not None and not self._has_token(headers.get(b"authorization", b"")):
            challenge = {"www-authenticate": "Bearer"}
            raise Refusal(401, "A bearer token is needed, and this is not the one.", **challenge)
        if scope["path"] != PATH:
            raise Refusal(404, f"There is nothing here. MCP is at {PATH}.")
        if scope["method"] not in METHODS:
            raise Refusal(405, "Use GET, POST or DELETE.", allow=", ".join(METHODS))

    def _has_token(self, header: bytes) -> bool:
        scheme, _, given = header.partition(b" ")
        is_right = hmac.compare_digest(given.strip(), self._token or b"")
        return is_right and scheme.lower() == b"bearer"


def _headers(scope: Scope) -> Mapping[bytes, bytes]:
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


async def _with_body(scope: Scope, receive: Receive) -> Receive:
    """The whole body, read within bounds and known to be a message; then whatever else comes."""
    body = await _body(scope, receive)
    if _headers(scope).get(b"content-type", b"").lower().startswith(b"application/json"):
        message = parsed(body)
        if isinstance(message, bytes):
            raise NoMessage(message)
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return pending.pop() if pending else await receive()

    return again


async def _body(scope: Scope, receive: Receive) -> bytes:
    too_large = Refusal(413, f"A request may have {LARGEST_LINE} bytes.", connection="close")
    length = _headers(scope).get(b"content-length", b"0")
    if length.isdigit() and int(length) > LARGEST_LINE:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise Refusal(400, "The request ended before its body did.")
                body += message.get("body", b"")
                if len(body) > LARGEST_LINE:
                    raise too_large
                if not message.get("more_body"):
                    return bytes(body)
    except TimeoutError:
        words = f"The request's body did not come within {BODY_S:g} s."
        raise Refusal(408, words, connection="close") from None


async def _answer(send: Send, refusal: Refusal) -> None:
    body = refusal.body
    headers = [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
