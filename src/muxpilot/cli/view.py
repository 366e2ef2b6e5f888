"""`muxpilot view`: serve a local web page on which a person watches the panes that agents use."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from muxpilot.config.model import Settings
from muxpilot.errors import BadInput
from muxpilot.tmux import version


def run(settings: Settings, arguments: Namespace) -> int:
    """Serve the page until a signal stops it."""
    if not 0 <= arguments.port <= 65535:
        raise BadInput(f"--port {arguments.port} is not a port.", "Use 0 to 65535; 0 means any free port.")
    if settings.ssh is None:
        version.require_installed()
    from muxpilot.view.run_page import open_page_listener, serve_until_signal

    asyncio.run(serve_until_signal(settings, open_page_listener(arguments.port), _announce))
    return 0


def _announce(address: str) -> None:
    print(
        f"{address}\nOpen this address in a browser. Everyone who has it can watch. Press Ctrl-C to stop.",
        flush=True,
    )
