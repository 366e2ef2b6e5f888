"""`muxpilot view`: a page on this machine where a person watches the panes that agents use."""

from __future__ import annotations

import asyncio
import logging
import sys
from argparse import Namespace

from muxpilot.config import Settings
from muxpilot.errors import BadInput
from muxpilot.tmux import version


def run(settings: Settings, arguments: Namespace) -> int:
    if not 0 <= arguments.port <= 65535:
        raise BadInput(f"--port {arguments.port} is no port.", "Use 0 to 65535; 0 is any port that is free.")
    if settings.ssh is None:
        version.installed()
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    from muxpilot.view.run_page import listen, serve

    asyncio.run(serve(settings, listen(arguments.port), _tell))
    return 0


def _tell(address: str) -> None:
    print(f"{address}\nOpen this address in a browser. Whoever has it can watch. Ctrl-C ends it.", flush=True)
