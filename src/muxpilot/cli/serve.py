"""No command: serve MCP. At a terminal, print what muxpilot is instead of waiting silently for JSON."""

from __future__ import annotations

import asyncio
import gc
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from muxpilot.config.model import HttpSettings, Settings
from muxpilot.errors import BadInput
from muxpilot.tmux import version

_TEXT_FOR_A_PERSON = """\
muxpilot is an MCP server: an MCP client starts it and talks to it through pipes.
  muxpilot install claude    add it to a client's configuration (also codex, cursor, vscode, opencode)
  muxpilot doctor            check this machine and the configuration
  muxpilot tools             list what an agent can do with it
  muxpilot call list-panes   call a tool yourself"""


def run(settings: Settings, arguments: Namespace) -> int:
    """Serve MCP over stdio or HTTP until the client leaves or a signal arrives."""
    if settings.http is not None:
        return _serve_http(settings, settings.http)
    if sys.stdin is None or sys.stdout is None:
        raise BadInput("stdin or stdout is closed.", "MCP needs both: let an MCP client start muxpilot.")
    if sys.stdin.isatty():
        print(_TEXT_FOR_A_PERSON, file=sys.stderr)
        return 0
    _check_tmux(settings)
    with _garbage_collection_paused():
        from muxpilot.server.lifecycle import (
            serve_stdio,
        )  # the SDK takes most of a second to import: other commands do without

    asyncio.run(serve_stdio(settings))
    return 0


def _serve_http(settings: Settings, http: HttpSettings) -> int:
    from muxpilot.web.listen import open_listeners, read_token  # report their errors before the slow import

    secret, sockets = read_token(http), open_listeners(http)
    _check_tmux(settings)
    with _garbage_collection_paused():
        from muxpilot.server.http_server import serve_http

    def announce(address: str) -> None:
        print(f"muxpilot: serving MCP at {address}", file=sys.stderr, flush=True)

    asyncio.run(serve_http(settings, sockets, token=secret, announce=announce))
    return 0


def _check_tmux(settings: Settings) -> None:
    if settings.ssh is None:  # over ssh, the tmux of the other host counts; it is checked when it is used
        version.require_installed()


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Pause garbage collection for an import, and exempt what is imported from later collections."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()
