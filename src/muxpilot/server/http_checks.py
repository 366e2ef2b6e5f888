"""What a request passes before the protocol: address, host, origin, token, size. Each has its own answer."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from typing import Any

from muxpilot.dispatch import incident
from muxpilot.server.fd_streams import LARGEST_LINE
from muxpilot.server.stdio import parsed
from muxpilot.web.asgi import (
    Asgi,
    Message,
    Receive,
    Refusal,
    Scope,
    Send,
    check_place,
    headers_of,
    refuse,
)

PATH = "/mcp"
METHODS = ("GET", "POST", "DELETE")

# A body that takes longer than this is not waited for.
BODY_S = 30.0
# Of one that is refused, so much is passed over, as long as it keeps coming.
_PASSED_OVER, _PASSING_S, _PAUSE_S = 64 << 20, 10.0, 2.0


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
            await refuse(send, refusal)
        except Exception:  # noqa: BLE001 - a mistake of ours must not end the server
            words = incident(f"{scope['method']} {PATH}")
            if not begun:
                await refuse(send, Refusal(500, words))

    def _check(self, scope: Scope) -> None:
        headers = headers_of(scope)
        check_place(headers, is_local=self._is_local)
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


async def _with_body(scope: Scope, receive: Receive) -> Receive:
    """The whole body, read within bounds and known to be a message; then whatever else comes."""
    body = await _body(scope, receive)
    if headers_of(scope).get(b"content-type", b"").lower().startswith(b"application/json"):
        message = parsed(body)
        if isinstance(message, bytes):
            raise NoMessage(message)
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return pending.pop() if pending else await receive()

    return again


async def _body(scope: Scope, receive: Receive) -> bytes:
    too_large = Refusal(413, f"A request may have {LARGEST_LINE} bytes.", connection="close")
    headers = headers_of(scope)
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and int(length) > LARGEST_LINE:
        if b"expect" not in headers:  # else nothing is sent before we ask for it
            await _pass_over(receive)
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
                    await _pass_over(receive)
                    raise too_large
                if not message.get("more_body"):
                    return bytes(body)
    except TimeoutError:
        words = f"The request's body did not come within {BODY_S:g} s."
        raise Refusal(408, words, connection="close") from None


async def _pass_over(receive: Receive) -> None:
    """Who is still sending when we close the connection gets a broken pipe in place of the answer."""
    passed = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PASSING_S):
            while passed < _PASSED_OVER:
                message = await asyncio.wait_for(receive(), _PAUSE_S)
                passed += len(message.get("body", b""))
                if not message.get("more_body"):
                    return
