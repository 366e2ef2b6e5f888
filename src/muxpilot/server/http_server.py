"""MCP over Streamable HTTP: many clients at once, each with a session that ends when the client has gone.

The SDK implements the protocol, uvicorn is the web server. This module adds the checks before them, and
detects clients that are gone: such a client had a notification stream, which has closed, and it neither opens
another nor sends a request for a while. Then its session ends as if the client had ended it. If a client
never opens a stream, its end cannot be detected: when there are too many sessions, the one that was idle
longest ends.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from muxpilot.app import App, build
from muxpilot.config.model import Settings
from muxpilot.server.fd_streams import LARGEST_LINE
from muxpilot.server.http_checks import PATH, HttpChecks
from muxpilot.server.mcp_server import MuxpilotServer
from muxpilot.tasks import TaskSet
from muxpilot.trace import area
from muxpilot.web.asgi import Asgi, AsgiScope, Message, Receive, Send
from muxpilot.web.listen import is_loopback
from muxpilot.web.uvicorn_server import UvicornServer, build_config

ABSENT_S = 60.0
IDLE_S = 8 * 3600.0  # for a client that never opens a stream, so that we cannot see it leave
MOST_SESSIONS = 1000
_MOST_HANDSHAKES = 100  # handshakes that may run while there is room for one more session

_SESSION = b"mcp-session-id"
_STOP_S = 0.3  # for clients that are still reading an answer
_CLOSE_S = 1.8


_trace = area("server").child(transport="http")


async def serve_http(
    settings: Settings,
    sockets: Sequence[socket.socket],
    *,
    token: bytes | None,
    announce: Callable[[str], None],
) -> None:
    """Serve until a signal arrives."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    announce(address(sockets[0]))
    await run(build(settings), sockets, token=token, stopped=stopped)


async def run(
    app: App,
    sockets: Sequence[socket.socket],
    *,
    token: bytes | None,
    stopped: asyncio.Event,
    absent_s: float = ABSENT_S,
    most: int = MOST_SESSIONS,
) -> None:
    """Serve an application on open sockets until `stopped` is set."""
    manager = StreamableHTTPSessionManager(
        MuxpilotServer(app),
        session_idle_timeout=IDLE_S,
        max_request_body_size=LARGEST_LINE,
        max_sessions=most + _MOST_HANDSHAKES,
    )
    tracker = SessionTracker(manager.handle_request, absent_s, most)
    is_local = all(is_loopback(each.getsockname()[0]) for each in sockets)
    checks = HttpChecks(tracker, token=token, is_local=is_local)
    try:
        async with manager.run():
            await app.start()
            _trace.info("serving", address=address(sockets[0]), tools=len(app.dispatch.offered))
            web = UvicornServer(build_config(checks))
            serving = asyncio.create_task(web.serve(list(sockets)))
            await _wait_for_either(serving, stopped)
            app.services.watches.is_closing = True
            await tracker.end_all()
            checks.close()
            web.should_exit = True
            asyncio.get_running_loop().call_later(_STOP_S, web.force_close)
            await serving
    finally:
        with suppress(TimeoutError):
            await asyncio.wait_for(app.close(), _CLOSE_S)
        _trace.info("stopped")


async def _wait_for_either(serving: asyncio.Task[None], stopped: asyncio.Event) -> None:
    waiting = asyncio.create_task(stopped.wait())
    await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


def address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


@dataclass(slots=True)
class _TrackedSession:
    """One client's session; `idle_timer` runs after a client with a stream has closed it."""

    requests: int = 0
    had_stream: bool = False
    idle_timer: asyncio.TimerHandle | None = None


class SessionTracker:
    """The sessions with the number of their running requests; an open stream is one of them.

    Sessions are in the order of their last use, the oldest first.
    """

    def __init__(self, inner: Asgi, absent_s: float, most: int) -> None:
        self._inner = inner
        self._absent_s = absent_s
        self._most = most
        self._sessions: dict[bytes, _TrackedSession] = {}
        self._ending = TaskSet(_trace)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        identity = _session_id(scope["headers"])
        session = self._sessions.get(identity) if identity is not None else None
        if identity is None:
            await self._make_room()
            await self._inner(scope, receive, self._record_new_session(send))
        elif session is None:  # it does not exist; the SDK answers so
            await self._inner(scope, receive, send)
        else:
            with self._count_request(identity, session, scope["method"]):
                await self._inner(scope, receive, send)

    async def end_all(self) -> None:
        await asyncio.gather(*(self._end(identity) for identity in tuple(self._sessions)))

    def _record_new_session(self, send: Send) -> Send:
        """Return a `send` that notes the session id in the answer to a handshake."""

        async def send_and_note(message: Message) -> None:
            """Note the session id, then send."""
            identity = _session_id(message.get("headers", ()))
            if identity is not None:
                self._sessions.setdefault(identity, _TrackedSession())
                _trace.info("session opened", sessions=len(self._sessions))
            await send(message)

        return send_and_note

    async def _make_room(self) -> None:
        if len(self._sessions) < self._most:
            return
        idle = next((identity for identity, each in self._sessions.items() if each.requests == 0), None)
        if idle is not None:
            await self._end(idle)

    @contextmanager
    def _count_request(self, identity: bytes, session: _TrackedSession, method: str) -> Iterator[None]:
        session.requests += 1
        session.had_stream |= method == "GET"
        if session.idle_timer is not None:
            session.idle_timer.cancel()
            session.idle_timer = None
        try:
            yield
        finally:
            session.requests -= 1
            if session.requests == 0 and self._sessions.pop(identity, None) is not None:
                self._start_idle_timer(identity, session, is_over=method == "DELETE")

    def _start_idle_timer(self, identity: bytes, session: _TrackedSession, *, is_over: bool) -> None:
        if is_over:
            return
        self._sessions[identity] = session
        if session.had_stream:
            loop = asyncio.get_running_loop()
            session.idle_timer = loop.call_later(self._absent_s, self._end_after_absence, identity)

    def _end_after_absence(self, identity: bytes) -> None:
        self._ending.start(self._end(identity))

    async def _end(self, identity: bytes) -> None:
        """End a session with the request that its client would send."""
        session = self._sessions.pop(identity, None)
        if session is not None and session.idle_timer is not None:
            session.idle_timer.cancel()
        _trace.info("session ended", sessions=len(self._sessions), is_idle=session is not None)
        scope = {"type": "http", "method": "DELETE", "path": PATH, "headers": [(_SESSION, identity)]}
        await self._inner(scope, _empty_body, _discard)


def _session_id(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    return next((value for name, value in headers if name.lower() == _SESSION), None)


async def _empty_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _discard(message: Message) -> None:
    """Discard the answer to a request that no client sent."""
