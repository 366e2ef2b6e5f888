"""Serve until the client leaves or a signal asks us to."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

from muxpilot.app import build
from muxpilot.config import Settings
from muxpilot.server.mcp import Face
from muxpilot.server.stdio import stdio

_GOODBYE_S = 1.8


async def serve(settings: Settings) -> None:
    app = build(settings)
    face = Face(app)
    loop = asyncio.get_running_loop()
    try:
        async with stdio() as wire:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.add_signal_handler(number, wire.leave)
            await face.run(wire.incoming, wire.outgoing, face.create_initialization_options())
    finally:
        with suppress(TimeoutError):
            await asyncio.wait_for(app.close(), _GOODBYE_S)
