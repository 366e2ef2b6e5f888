"""The checks before the protocol: host, origin, token, path, method, body. Each has its own answer."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hmac
from collections.abc import Awaitable, Callable, Mapping

from muxpilot.calls import report_incident
from muxpilot.server.fd_streams import LARGEST_LINE
from muxpilot.server.http_exchange import HttpRequest
from muxpilot.tasks import TaskSet
from muxpilot.trace import area
from muxpilot.web.asgi import (
    AsgiScope,
    HttpRefusal,
    Message,
    Receive,
    Send,
    check_host_and_origin,
    collect_headers,
    send_refusal,
)

PATH = "/mcp"
METHODS = ("GET", "POST", "DELETE")

_trace = area("server").child(transport="http")

HandleRequest = Callable[[HttpRequest], Awaitable[None]]

# How long a request may take to send its body.
BODY_S = 30.0
# Limits for draining a refused body: bytes, total time, and the longest pause of the client.
_MOST_DRAINED, _DRAIN_S, _PAUSE_S = 64 << 20, 10.0, 2.0


class _BodyTooLarge(HttpRefusal):
    """The client sends more than it may. `is_coming`: the rest of it is on its way."""

    def __init__(self, *, is_coming: bool) -> None:
        super().__init__(413, f"A request may have at most {LARGEST_LINE} bytes.", connection="close")
        self.is_coming = is_coming


class HttpChecks:
    """Checks every request before it reaches the protocol.

    `token`, if there is one, is required of every client. `is_local`: only this machine can connect. Then a
    web page in a local browser could still connect, through a host name of its own that resolves to us (DNS
    rebinding). Such a page can forge neither the Origin nor the Host header. Where other machines can
    connect, we cannot know the host names that they use; there the token keeps such pages out.
    """

    def __init__(self, inner: HandleRequest, *, token: bytes | None, is_local: bool) -> None:
        self._inner = inner
        self._token = token
        self._is_local = is_local
        self._tasks = TaskSet(_trace)
        self._is_closed = False

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            with self._tasks.include_current():
                await self._check_and_forward(scope, receive, send)
        except asyncio.CancelledError:
            if not self._is_closed:
                raise

    def close(self) -> None:
        """Cancel running requests and end those that still arrive."""
        self._is_closed = True
        self._tasks.cancel()

    async def _check_and_forward(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        has_answered = False

        async def send_and_note(message: Message) -> None:
            nonlocal has_answered
            has_answered = True
            await send(message)

        method = scope["method"]
        try:
            headers = collect_headers(scope)
            self._check(scope, headers)
            body = await _read_body(headers, receive) if method == "POST" else b""
            await self._inner(HttpRequest(method, headers, scope["headers"], body, receive, send_and_note))
        except HttpRefusal as refusal:
            _trace.info("request refused", status=refusal.status, method=method)
            is_coming = isinstance(refusal, _BodyTooLarge) and refusal.is_coming
            drain = functools.partial(_drain_body, receive) if is_coming else None
            await send_refusal(send, refusal, before_end=drain)
        except Exception:  # noqa: BLE001 - a bug in muxpilot must not end the server
            words = report_incident(f"{method} {PATH}")
            if not has_answered:
                await send_refusal(send, HttpRefusal(500, words))

    def _check(self, scope: AsgiScope, headers: Mapping[bytes, bytes]) -> None:
        check_host_and_origin(headers, is_local=self._is_local)
        if self._token is not None and not self._has_token(headers.get(b"authorization", b"")):
            challenge = {"www-authenticate": "Bearer"}
            raise HttpRefusal(
                401, "Send the bearer token of this server in the Authorization header.", **challenge
            )
        if scope["path"] != PATH:
            raise HttpRefusal(404, f"Nothing is served here. MCP is at {PATH}.")
        if scope["method"] not in METHODS:
            raise HttpRefusal(405, "Use GET, POST or DELETE.", allow=", ".join(METHODS))

    def _has_token(self, header: bytes) -> bool:
        scheme, _, given = header.partition(b" ")
        is_right = hmac.compare_digest(given.strip(), self._token or b"")
        return is_right and scheme.lower() == b"bearer"


async def _read_body(headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
    """Read the body within limits of size and time."""
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and int(length) > LARGEST_LINE:
        # With Expect, the client waits for our permission to send.
        raise _BodyTooLarge(is_coming=b"expect" not in headers)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise HttpRefusal(400, "The request ended before its body did.")
                body += message.get("body", b"")
                if len(body) > LARGEST_LINE:
                    raise _BodyTooLarge(is_coming=bool(message.get("more_body")))
                if not message.get("more_body"):
                    return bytes(body)
    except TimeoutError:
        words = f"The body of the request did not arrive within {BODY_S:g} s."
        raise HttpRefusal(408, words, connection="close") from None


async def _drain_body(receive: Receive) -> None:
    """Drain the rest of a refused body after the answer: a reset would take the answer from the client."""
    drained = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_S):
            while drained < _MOST_DRAINED:
                message = await asyncio.wait_for(receive(), _PAUSE_S)
                drained += len(message.get("body", b""))
                if not message.get("more_body"):
                    return
