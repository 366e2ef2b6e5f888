"""Serve the view page, from settings to a page that runs until it is stopped."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from muxpilot.app import build
from muxpilot.config.model import AuditSettings, Settings
from muxpilot.config.scope import Scope
from muxpilot.errors import MuxpilotError
from muxpilot.people.pages import PageAnnouncement
from muxpilot.trace import area
from muxpilot.view.answer_gate import SHOWN_S, AnswerGate
from muxpilot.view.answer_routes import ROOT, AnswerRoutes
from muxpilot.view.audit_reader import AuditReader
from muxpilot.view.http_app import ViewApp
from muxpilot.view.model import ViewModel
from muxpilot.web.listen import open_listener
from muxpilot.web.uvicorn_server import UvicornServer, build_config

HOST = "127.0.0.1"
_TOKEN_BYTES = 24

trace = area("view")


def open_page_listener(port: int) -> socket.socket:
    return open_listener(socket.AF_INET, (HOST, port), f"--port {port}")


async def serve_until_signal(
    settings: Settings,
    listener: socket.socket,
    print_address: Callable[[str], None],
    print_code: Callable[[str], None],
    hide_code: Callable[[], None] | None = None,
) -> None:
    """Serve the page until SIGTERM, SIGINT or SIGHUP. Enter in the terminal prints another code."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await run(settings, listener, print_address, stopped, print_code=print_code, hide_code=hide_code)


async def run(
    settings: Settings,
    listener: socket.socket,
    print_address: Callable[[str], None],
    stopped: asyncio.Event,
    *,
    print_code: Callable[[str], None],
    hide_code: Callable[[], None] | None = None,
) -> None:
    """Serve the page until `stopped` is set. `print_code` gets each new code, and "" when it was used.

    With `hide_code`, a code is shown only after Enter, and for a short time: see `AnswerGate`.
    The page reads the audit log and never writes it: watching leaves no entries there.
    """
    app = build(replace(settings, scope=Scope.ALL, audit=AuditSettings()), may_start_journals=False)
    audit = AuditReader(settings.audit.path)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    port, model = listener.getsockname()[1], ViewModel(app, audit)
    print_address(f"http://{HOST}:{port}/{token}/")
    gate = AnswerGate(print_code, hide_code=hide_code)
    pages = ViewApp(model, token, stopped, AnswerRoutes(model, gate, port))
    server = UvicornServer(build_config(pages))
    serving = asyncio.create_task(server.serve([listener]))
    stopping = asyncio.create_task(stopped.wait())
    announcement = PageAnnouncement(f"http://{HOST}:{port}/{ROOT}/", model.list_sockets)
    try:
        await _announce(announcement)
        _renew_code_on_enter(gate)
        trace.info("view page started", host=HOST, port=port)
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        await serving
    finally:
        announcement.close()
        stopping.cancel()
        audit.close()
        await app.close_in_time()
        trace.info("view page stopped", port=port)


async def _announce(announcement: PageAnnouncement) -> None:
    """Let muxpilots find the page. Without a private folder they do not, and the page works all the same."""
    try:
        await announcement.open()
    except (OSError, MuxpilotError) as error:
        trace.warning("questions are not sent to this page", error=error)


def _renew_code_on_enter(gate: AnswerGate) -> None:
    """Print another code when a person presses Enter in the terminal."""
    if sys.stdin is None or not sys.stdin.isatty():
        return

    def read_line() -> None:
        """Take the key, or stop at the end of the input."""
        if os.read(sys.stdin.fileno(), 1 << 12):
            gate.renew_code()
            asyncio.get_running_loop().call_later(SHOWN_S, gate.drop_old_code)
        else:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())

    with suppress(OSError):
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), read_line)
