"""Serve one client over stdio, until it leaves or a signal arrives."""

from __future__ import annotations

import asyncio
import signal

from muxpilot.app import build
from muxpilot.config.model import Settings
from muxpilot.server.client_connection import ClientConnection
from muxpilot.server.first_answers import Handover
from muxpilot.server.manifest import save_manifest
from muxpilot.server.mcp_server import MuxpilotServer
from muxpilot.server.stdio import open_stdio
from muxpilot.server.stdio_dispatcher import StdioDispatcher
from muxpilot.trace import area

# When the manifest is written. The first requests of a client come before.
_SAVE_AFTER_S = 1.0

_trace = area("server").child(transport="stdio")


async def serve_stdio(settings: Settings, handover: Handover | None = None) -> None:
    """Serve the client on stdin and stdout. A signal ends the input, as if the client had left.

    `handover`: the first requests have been answered already.
    """
    app = build(settings)
    server = MuxpilotServer(app, ends_with_client=True)
    loop = asyncio.get_running_loop()
    saving = None
    if handover is None:
        saving = loop.call_later(_SAVE_AFTER_S, lambda: save_manifest(settings, server.introduction))
    try:
        async with open_stdio(handover.unread if handover is not None else b"") as streams:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.add_signal_handler(number, streams.incoming.end)
            await app.start()
            _trace.info("serving", scope=settings.scope.value, tools=len(app.dispatch.offered))
            connection = ClientConnection(streams.outgoing.send, app.services.watches)
            if handover is not None:
                connection.state = handover.state
            await StdioDispatcher(streams.incoming, streams.outgoing, connection, server.answer).run()
    finally:
        if saving is not None and saving.when() > loop.time():  # the client has left before
            saving.cancel()
            save_manifest(settings, server.introduction)
        await app.close_in_time()
        _trace.info("stopped")
