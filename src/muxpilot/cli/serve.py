"""No command: serve MCP; to a person at a terminal, say what this is instead of sitting silent."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from muxpilot.config import Settings
from muxpilot.config.model import Http
from muxpilot.errors import BadInput
from muxpilot.tmux import version

_TO_A_PERSON = """\
muxpilot is an MCP server: an agent's client starts it and talks to it through pipes.
  muxpilot install claude    enter it into a client's configuration (codex, cursor, vscode, opencode too)
  muxpilot doctor            see whether everything is in place
  muxpilot tools             see what an agent can do with it
  muxpilot call list-panes   do it yourself"""


def run(settings: Settings, arguments: Namespace) -> int:
    if settings.http is not None:
        return _http(settings, settings.http)
    if sys.stdin is None or sys.stdout is None:
        raise BadInput("stdin or stdout is closed.", "MCP needs both: let an MCP client start muxpilot.")
    if sys.stdin.isatty():
        print(_TO_A_PERSON, file=sys.stderr)
        return 0
    _prepare(settings)
    with _loading():
        from muxpilot.server.lifecycle import serve  # the SDK takes most of a second: nobody else pays

    asyncio.run(serve(settings))
    return 0


def _http(settings: Settings, http: Http) -> int:
    from muxpilot.web.listen import listen, token  # what is wrong with them is said at once

    secret, sockets = token(http), listen(http)
    _prepare(settings)
    with _loading():
        from muxpilot.server.http import serve

    def tell(address: str) -> None:
        print(f"muxpilot: serving MCP at {address}", file=sys.stderr, flush=True)

    asyncio.run(serve(settings, sockets, token=secret, tell=tell))
    return 0


def _prepare(settings: Settings) -> None:
    if settings.ssh is None:  # else it is the tmux there that counts, when it is first needed
        version.installed()
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )


@contextmanager
def _loading() -> Iterator[None]:
    """What is loaded now stays: it is never searched for garbage, neither meanwhile nor during a call."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()
