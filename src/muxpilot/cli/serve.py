"""No command: serve MCP; to a person at a terminal, say what this is instead of sitting silent."""

from __future__ import annotations

import asyncio
import logging
import sys
from argparse import Namespace

from muxpilot.config import Settings
from muxpilot.errors import BadInput
from muxpilot.tmux import version

_TO_A_PERSON = """\
muxpilot is an MCP server: an agent's client starts it and talks to it through pipes.
  muxpilot install claude    enter it into a client's configuration (codex, cursor, vscode, opencode too)
  muxpilot doctor            see whether everything is in place
  muxpilot tools             see what an agent can do with it
  muxpilot call list-panes   do it yourself"""


def run(settings: Settings, arguments: Namespace) -> int:
    if sys.stdin is None or sys.stdout is None:
        raise BadInput("stdin or stdout is closed.", "MCP needs both: let an MCP client start muxpilot.")
    if sys.stdin.isatty():
        print(_TO_A_PERSON, file=sys.stderr)
        return 0
    version.installed()
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    from muxpilot.server.serve import serve  # the SDK takes most of a second to load: nobody else pays

    asyncio.run(serve(settings))
    return 0
