"""MCP by Streamable HTTP: many clients at once, each with a session that ends when the client has gone.

The protocol is the SDK's, the web server is uvicorn's. What is ours is the gate before them, and to
notice that a client has gone: one that had its stream of notifications open, lost it, and neither opened it
again nor asked anything for a while. It is then as if the client had ended its session itself. Of clients
that never open a stream one cannot know: of too many sessions, the one that was idle the longest ends.
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
from muxpilot.config import Settings
from muxpilot.server.fd_streams import LARGEST_LINE
from muxpilot.server.http_checks import PATH, Gate
from muxpilot.server.mcp_server import Face
from muxpilot.web.asgi import Asgi, Message, Receive, Scope, Send
from muxpilot.web.listen import is_loopback
from muxpilot.web.uvicorn_server import Web, config

GONE_S = 60.0
IDLE_S = 8 * 3600.0  # of a client that never opens a stream, and of which one cannot know
MOST_SESSIONS = 1000
_MOST_AT_ONCE = 100  # handshakes that may be under way when there is room for one more

_SESSION = b"mcp-session-id"
_STOP_S = 0.3  # for who is still reading an answer
_GOODBYE_S = 1.8


async def serve(
    settings: Settings, sockets: Sequence[socket.socket], *, token: bytes | None, tell: Callable[[str], None]
) -> None:
    """Until a signal asks us to stop."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    tell(address(sockets[0]))
    await run(build(settings), sockets, token=token, stopped=stopped)


async def run(
    app: App,
    sockets: Sequence[socket.socket],
    *,
    token: bytes | None,
    stopped: asyncio.Event,
    gone_s: float = GONE_S,
    most: int = MOST_SESSIONS,
) -> None:
    manager = StreamableHTTPSessionManager(
        Face(app),
        session_idle_timeout=IDLE_S,
        max_request_body_size=LARGEST_LINE,
        max_sessions=most + _MOST_AT_ONCE,
    )
    presence = Presence(manager.handle_request, gone_s, most)
    is_local = all(is_loopback(each.getsockname()[0]) for each in sockets)
    gate = Gate(presence, token=token, is_local=is_local)
    try:
        async with manager.run():
            await app.begin()
            web = Web(config(gate))
            serving = asyncio.create_task(web.serve(list(sockets)))
            await _first(serving, stopped)
            await presence.end_all()
            gate.close()
            web.should_exit = True
            asyncio.get_running_loop().call_later(_STOP_S, web.hurry)
            await serving
    finally:
        with suppress(TimeoutError):
            await asyncio.wait_for(app.close(), _GOODBYE_S)


async def _first(serving: asyncio.Task[None], stopped: asyncio.Event) -> None:
    waiting = asyncio.create_task(stopped.wait())
    await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


def address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


@dataclass(slots=True)
class _Session:
    requests: int = 0
    had_stream: bool = False
    leaving: asyncio.TimerHandle | None = None


class Presence:
    """Who is there: each session with its requests under way, an open stream being one of them.

    They stand in the order in which they were used last."""

    def __init__(self, inner: Asgi, gone_s: float, most: int) -> None:
        self._inner = inner
        self._gone_s = gone_s
        self._most = most
        self._sessions: dict[bytes, _Session] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        identity = _identity(scope["headers"])
        session = self._sessions.get(identity) if identity is not None else None
        if identity is None:
            await self._make_room()
            await self._inner(scope, receive, self._noting(send))
        elif session is None:  # one that is not there, as the answer will tell
            await self._inner(scope, receive, send)
        else:
            with self._present(identity, session, scope["method"]):
                await self._inner(scope, receive, send)

    async def end_all(self) -> None:
        await asyncio.gather(*(self._end(identity) for identity in tuple(self._sessions)))

    def _noting(self, send: Send) -> Send:
        """A handshake's answer has the new session's id."""

        async def noted(message: Message) -> None:
            identity = _identity(message.get("headers", ()))
            if identity is not None:
                self._sessions.setdefault(identity, _Session())
            await send(message)

        return noted

    async def _make_room(self) -> None:
        if len(self._sessions) < self._most:
            return
        idle = next((identity for identity, each in self._sessions.items() if each.requests == 0), None)
        if idle is not None:
            await self._end(idle)

    @contextmanager
    def _present(self, identity: bytes, session: _Session, method: str) -> Iterator[None]:
        session.requests += 1
        session.had_stream |= method == "GET"
        if session.leaving is not None:
            session.leaving.cancel()
            session.leaving = None
        try:
            yield
        finally:
            session.requests -= 1
            if session.requests == 0 and self._sessions.pop(identity, None) is not None:
                self._alone(identity, session, is_over=method == "DELETE")

    def _alone(self, identity: bytes, session: _Session, *, is_over: bool) -> None:
        if is_over:
            return
        self._sessions[identity] = session
        if session.had_stream:
            loop = asyncio.get_running_loop()
            session.leaving = loop.call_later(self._gone_s, self._gone, identity)

    def _gone(self, identity: bytes) -> None:
        task = asyncio.create_task(self._end(identity))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _end(self, identity: bytes) -> None:
        """As its client would."""
        session = self._sessions.pop(identity, None)
        if session is not None and session.leaving is not None:
            session.leaving.cancel()
        scope = {"type": "http", "method": "DELETE", "path": PATH, "headers": [(_SESSION, identity)]}
        await self._inner(scope, _nothing_more, _unheard)


def _identity(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    return next((value for name, value in headers if name.lower() == _SESSION), None)


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(message: Message) -> None:
    """Nobody asked, so nobody is answered."""
