"""Serve one client over stdio, until it leaves or a signal arrives."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

from muxpilot.app import build
from muxpilot.config.model import Settings
from muxpilot.server.client_connection import ClientConnection
from muxpilot.server.mcp_server import MuxpilotServer
from muxpilot.server.stdio import open_stdio
from muxpilot.server.stdio_dispatcher import StdioDispatcher
from muxpilot.trace import area

_CLOSE_S = 1.8

_trace = area("server").child(transport="stdio")


async def serve_stdio(settings: Settings) -> None:
    """Serve the client on stdin and stdout. A signal ends the input, as if the client had left."""
    app = build(settings)
    server = MuxpilotServer(app)
    loop = asyncio.get_running_loop()
    try:
        async with open_stdio() as streams:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.add_signal_handler(number, streams.incoming.end)
            await app.start()
            _trace.info("serving", scope=settings.scope.value, tools=len(app.dispatch.offered))
            connection = ClientConnection(streams.outgoing.send, app.services.watches)
            await StdioDispatcher(streams.incoming, streams.outgoing, connection, server.answer).run()
    finally:
        with suppress(TimeoutError):
            await asyncio.wait_for(app.close(), _CLOSE_S)
        _trace.info("stopped")
