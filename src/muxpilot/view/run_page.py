"""From settings to a page that is served until somebody stops it."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from muxpilot.app import build
from muxpilot.config import Audit, Settings
from muxpilot.config.scope import Scope
from muxpilot.view.audit_reader import Trail
from muxpilot.view.http_app import Page
from muxpilot.view.model import Stage
from muxpilot.web.listen import bound
from muxpilot.web.uvicorn_server import Web, config

HOST = "127.0.0.1"
_TOKEN_BYTES = 24
_GOODBYE_S = 1.8


def listen(port: int) -> socket.socket:
    return bound(socket.AF_INET, (HOST, port), f"--port {port}")


async def serve(settings: Settings, listener: socket.socket, tell: Callable[[str], None]) -> None:
    """Until a signal asks us to stop."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await run(settings, listener, tell, stopped)


async def run(
    settings: Settings, listener: socket.socket, tell: Callable[[str], None], stopped: asyncio.Event
) -> None:
    """The audit log is read here, and never written: who watches leaves no trace in it."""
    app = build(replace(settings, scope=Scope.ALL, audit=Audit()))
    trail = Trail(settings.audit.path)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    web = Web(config(Page(Stage(app, trail), token, stopped)))
    serving = asyncio.create_task(web.serve([listener]))
    waiting = asyncio.create_task(stopped.wait())
    try:
        tell(f"http://{HOST}:{listener.getsockname()[1]}/{token}/")
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        web.should_exit = True
        await serving
    finally:
        waiting.cancel()
        trail.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(app.close(), _GOODBYE_S)
