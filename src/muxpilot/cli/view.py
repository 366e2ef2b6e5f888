"""`muxpilot view`: serve a local web page on which a person watches the panes that agents use."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from muxpilot.config.environment import variable
from muxpilot.config.model import Settings
from muxpilot.errors import BadInput
from muxpilot.terminal.escapes import ERASE_LINE_ABOVE
from muxpilot.tmux import version


def run(settings: Settings, arguments: Namespace) -> int:
    """Serve the page until a signal stops it."""
    if not 0 <= arguments.port <= 65535:
        raise BadInput(f"--port {arguments.port} is not a port.", "Use 0 to 65535; 0 means any free port.")
    if not settings.is_far:
        version.require_installed()
    from muxpilot.view.run_page import open_page_listener, serve_until_signal

    listener = open_page_listener(arguments.port)
    printer = CodePrinter()
    # Agents can read the panes of tmux, so a code is not left there.
    hide = printer.hide_code if sys.stdin.isatty() and variable("TMUX") else None
    asyncio.run(serve_until_signal(settings, listener, _announce, printer.print_code, hide))
    return 0


def _announce(address: str) -> None:
    print(
        f"{address}\nOpen this address in a browser. Everyone who has it can watch. Press Ctrl-C to stop.",
        flush=True,
    )


class CodePrinter:
    """Prints the code for answers. In a terminal it is erased when it was used."""

    def __init__(self) -> None:
        self._is_code_shown = False

    def print_code(self, code: str) -> None:
        """Print a new code, or with an empty text that it was used."""
        if self._is_code_shown and sys.stdout.isatty():
            sys.stdout.write(ERASE_LINE_ABOVE)
        if code:
            print(f"Code for answering the questions of agents: {code}", flush=True)
        else:
            print("A browser has given the code, and can answer. Press Enter for another code.", flush=True)
        self._is_code_shown = bool(code)

    def hide_code(self) -> None:
        """Erase the code, and say how to get one."""
        if self._is_code_shown and sys.stdout.isatty():
            sys.stdout.write(ERASE_LINE_ABOVE)
        print("Press Enter to see a code for answering the questions of agents.", flush=True)
        self._is_code_shown = False
