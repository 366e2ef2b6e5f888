"""Serve the view page, from settings to a page that runs until it is stopped."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from muxpilot.app import build
from muxpilot.config.model import AuditSettings, Settings
from muxpilot.config.scope import Scope
from muxpilot.trace import area
from muxpilot.view.audit_reader import AuditReader
from muxpilot.view.http_app import ViewApp
from muxpilot.view.model import ViewModel
from muxpilot.web.listen import open_listener
from muxpilot.web.uvicorn_server import UvicornServer, build_config

HOST = "127.0.0.1"
_TOKEN_BYTES = 24
_CLOSE_TIMEOUT_S = 1.8

trace = area("view")


def open_page_listener(port: int) -> socket.socket:
    return open_listener(socket.AF_INET, (HOST, port), f"--port {port}")


async def serve_until_signal(
    settings: Settings, listener: socket.socket, print_address: Callable[[str], None]
) -> None:
    """Serve the page until SIGTERM, SIGINT or SIGHUP."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await run(settings, listener, print_address, stopped)


async def run(
    settings: Settings, listener: socket.socket, print_address: Callable[[str], None], stopped: asyncio.Event
) -> None:
    """Serve the page until `stopped` is set.

    The page reads the audit log and never writes it: watching leaves no entries there.
    """
    app = build(replace(settings, scope=Scope.ALL, audit=AuditSettings()), may_start_journals=False)
    audit = AuditReader(settings.audit.path)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    server = UvicornServer(build_config(ViewApp(ViewModel(app, audit), token, stopped)))
    serving = asyncio.create_task(server.serve([listener]))
    stopping = asyncio.create_task(stopped.wait())
    port = listener.getsockname()[1]
    try:
        print_address(f"http://{HOST}:{port}/{token}/")
        trace.info("view page started", host=HOST, port=port)
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        await serving
    finally:
        stopping.cancel()
        audit.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(app.close(), _CLOSE_TIMEOUT_S)
        trace.info("view page stopped", port=port)
