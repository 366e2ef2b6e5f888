"""Serve until the client leaves or a signal asks us to."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

from mcp.server.connection import Connection
from mcp.server.runner import serve_connection

from muxpilot.app import build
from muxpilot.config import Settings
from muxpilot.server.mcp_server import Face
from muxpilot.server.stdio import Wire, stdio
from muxpilot.server.stdio_dispatcher import Calls

_GOODBYE_S = 1.8


async def serve(settings: Settings) -> None:
    app = build(settings)
    face = Face(app)
    loop = asyncio.get_running_loop()
    try:
        async with stdio() as wire:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.add_signal_handler(number, wire.leave)
            await app.begin()
            await _serve(face, wire)
    finally:
        with suppress(TimeoutError):
            await asyncio.wait_for(app.close(), _GOODBYE_S)


async def _serve(face: Face, wire: Wire) -> None:
    """In the era that the client opens with: to find it out, the SDK hands every message on once more."""
    options = face.create_initialization_options()
    opening = await wire.opening()
    if opening is None or opening.method != "initialize":
        await face.run(wire.incoming, wire.outgoing, options)
        return
    calls = Calls(wire.incoming, wire.outgoing)
    connection = Connection.for_loop(calls)
    async with face.lifespan(face) as state:
        await serve_connection(face, calls, connection=connection, lifespan_state=state, init_options=options)
