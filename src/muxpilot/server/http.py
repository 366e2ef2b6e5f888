"""MCP by Streamable HTTP: many clients at once, each with a session that ends when the client has gone.

The protocol is the SDK's, the web server is uvicorn's. What is ours is the gate before them, and to
notice that a client has gone: one that had its stream of notifications open, lost it, and neither opened it
again nor asked anything for a while. It is then as if the client had ended its session itself.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from muxpilot.app import App, build
from muxpilot.config import Settings
from muxpilot.server.address import is_loopback
from muxpilot.server.gate import PATH, Asgi, Gate, Message, Receive, Scope, Send
from muxpilot.server.mcp import Face
from muxpilot.server.pipes import LARGEST_LINE

GONE_S = 60.0
IDLE_S = 8 * 3600.0  # of a client that never opens a stream, and of which one cannot know
MOST_SESSIONS = 1000
MOST_CONNECTIONS = 2000

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
) -> None:
    manager = StreamableHTTPSessionManager(
        Face(app),
        session_idle_timeout=IDLE_S,
        max_request_body_size=LARGEST_LINE,
        max_sessions=MOST_SESSIONS,
    )
    presence = Presence(manager.handle_request, gone_s)
    is_local = all(is_loopback(each.getsockname()[0]) for each in sockets)
    gate = Gate(presence, token=token, is_local=is_local)
    try:
        async with manager.run():
            await app.begin()
            web = _Web(_config(gate))
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


class _Web(uvicorn.Server):
    """Signals are ours to take: uvicorn would raise them again when it has ended."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def hurry(self) -> None:
        self.force_exit = True


def _config(gate: Gate) -> uvicorn.Config:
    return uvicorn.Config(
        gate,
        http="h11",
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="critical",  # what goes wrong in a request is told by the gate
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
    )


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
    """Who is there: each session with its requests under way, an open stream being one of them."""

    def __init__(self, inner: Asgi, gone_s: float) -> None:
        self._inner = inner
        self._gone_s = gone_s
        self._sessions: dict[bytes, _Session] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        identity = next((value for name, value in scope["headers"] if name == _SESSION), None)
        if identity is None:
            await self._inner(scope, receive, send)
            return
        with self._present(identity, scope["method"]):
            await self._inner(scope, receive, send)

    async def end_all(self) -> None:
        await asyncio.gather(*(self._end(identity) for identity in tuple(self._sessions)))

    @contextmanager
    def _present(self, identity: bytes, method: str) -> Iterator[None]:
        session = self._sessions.setdefault(identity, _Session())
        session.requests += 1
        session.had_stream |= method == "GET"
        if session.leaving is not None:
            session.leaving.cancel()
            session.leaving = None
        try:
            yield
        finally:
            session.requests -= 1
            if session.requests == 0:
                self._alone(identity, session, is_over=method == "DELETE")

    def _alone(self, identity: bytes, session: _Session, *, is_over: bool) -> None:
        if is_over or not session.had_stream:
            self._sessions.pop(identity, None)
            return
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


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(message: Message) -> None:
    """Nobody asked, so nobody is answered."""
