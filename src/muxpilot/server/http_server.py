"""Serve MCP over Streamable HTTP: many clients at once, on uvicorn, until a signal arrives."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence

from muxpilot.app import App, build
from muxpilot.config.model import Settings
from muxpilot.server.http_checks import PATH, HttpChecks
from muxpilot.server.http_forwarding import OtherWorkers
from muxpilot.server.http_sessions import ABSENT_S, MOST_SESSIONS, HttpSessions
from muxpilot.server.http_supervisor import STOP_SIGNALS, WorkerOrder
from muxpilot.server.http_transport import HttpTransport
from muxpilot.server.mcp_server import MuxpilotServer
from muxpilot.trace import area
from muxpilot.web.listen import is_loopback
from muxpilot.web.uvicorn_server import UvicornServer, build_config

_STOP_S = 0.3  # for clients that are still reading an answer


_trace = area("server").child(transport="http")


async def serve_http(
    settings: Settings,
    sockets: Sequence[socket.socket],
    *,
    token: bytes | None,
    announce: Callable[[str], None],
) -> None:
    """Serve until a signal arrives."""
    stopped = _catch_signals()
    announce(address(sockets[0]))
    await run(build(settings), sockets, token=token, stopped=stopped)


async def serve_worker(order: WorkerOrder, *, supervisor: int, announce: Callable[[str], None]) -> None:
    """Serve as one of several processes, until a signal arrives or the pipe from the supervisor ends."""
    stopped = _catch_signals()
    loop = asyncio.get_running_loop()

    def end_with_supervisor() -> None:
        loop.remove_reader(supervisor)
        _trace.info("the supervisor has ended")
        stopped.set()

    loop.add_reader(supervisor, end_with_supervisor)
    app, others = build(order.settings), OtherWorkers(order.folder, order.number)
    sockets = order.open_listeners()
    await run(app, sockets, token=order.token, stopped=stopped, others=others, announce=announce)


def _catch_signals() -> asyncio.Event:
    """Return an event that the signals set."""
    stopped = asyncio.Event()
    for number in STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    return stopped


async def run(
    app: App,
    sockets: Sequence[socket.socket],
    *,
    token: bytes | None,
    stopped: asyncio.Event,
    absent_s: float = ABSENT_S,
    most: int = MOST_SESSIONS,
    others: OtherWorkers | None = None,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Serve an application on open sockets until `stopped` is set. Call `announce` when it can be reached."""
    watches = app.services.watches
    prefix = others.id_prefix if others is not None else ""
    sessions = HttpSessions(watches, absent_s=absent_s, most=most, id_prefix=prefix)
    forward = others.forward if others is not None else None
    transport = HttpTransport(MuxpilotServer(app).answer, sessions, watches=watches, forward=forward)
    is_local = all(is_loopback(each.getsockname()[0]) for each in sockets)
    checks = HttpChecks(transport.handle, token=token, is_local=is_local)
    try:
        await app.start()
        if others is not None:
            await others.listen(transport.handle)
        if announce is not None:
            announce(address(sockets[0]))
        _trace.info("serving", address=address(sockets[0]), tools=len(app.dispatch.offered))
        web = UvicornServer(build_config(checks))
        serving = asyncio.create_task(web.serve(list(sockets)))
        await _wait_for_either(serving, stopped)
        watches.is_closing = True
        await sessions.end_all()
        checks.close()
        if others is not None:
            others.close()
        web.should_exit = True
        asyncio.get_running_loop().call_later(_STOP_S, web.force_close)
        await serving
    finally:
        await app.close_in_time()
        _trace.info("stopped")


async def _wait_for_either(serving: asyncio.Task[None], stopped: asyncio.Event) -> None:
    waiting = asyncio.create_task(stopped.wait())
    await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


def address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"
