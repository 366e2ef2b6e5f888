"""Serve one client over stdio, until it leaves or a signal arrives."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

from muxpilot.app import build
from muxpilot.config.model import Settings
from muxpilot.server.mcp_server import MuxpilotServer
from muxpilot.server.sdk_internals import Connection, serve_connection
from muxpilot.server.stdio import StdioStreams, open_stdio
from muxpilot.server.stdio_dispatcher import StdioDispatcher
from muxpilot.trace import area

_CLOSE_S = 1.8

_trace = area("server").child(transport="stdio")


async def serve_stdio(settings: Settings) -> None:
    """Serve the client on stdin and stdout. A signal ends the input, as if the client had left."""
    app = build(settings)
    server = MuxpilotServer(app, ends_with_client=True)
    loop = asyncio.get_running_loop()
    try:
        async with open_stdio() as streams:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.add_signal_handler(number, streams.end_input)
            await app.start()
            _trace.info("serving", scope=settings.scope.value, tools=len(app.dispatch.offered))
            await _serve_client(server, streams)
    finally:
        with suppress(TimeoutError):
            await asyncio.wait_for(app.close(), _CLOSE_S)
        _trace.info("stopped")


async def _serve_client(server: MuxpilotServer, streams: StdioStreams) -> None:
    """Serve the protocol revision that the client's first request belongs to.

    The SDK's own `run` also finds that out, but passes every message through one more stream. Only revisions
    without a handshake are left to it.
    """
    options = server.create_initialization_options()
    first = await streams.first_request()
    if first is None or first.method != "initialize":
        await server.run(streams.incoming, streams.outgoing, options)
        return
    dispatcher = StdioDispatcher(streams.incoming, streams.outgoing)
    connection = Connection.for_loop(dispatcher)
    async with server.lifespan(server) as state:
        await serve_connection(
            server, dispatcher, connection=connection, lifespan_state=state, init_options=options
        )
