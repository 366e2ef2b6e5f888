"""No command: serve MCP. At a terminal, print what muxpilot is instead of waiting silently for JSON."""

from __future__ import annotations

import gc
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from muxpilot.config.model import HttpSettings, Settings
from muxpilot.errors import BadInput
from muxpilot.server.first_answers import answer_first
from muxpilot.server.manifest import load_manifest

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
    introduction, handover = load_manifest(settings), None
    if introduction is None:
        _check_tmux(settings)
        _load_engine()
    else:  # an earlier start has checked the same tmux
        handover = answer_first(introduction, _load_engine)
        if handover is None:
            return 0
    import asyncio

    from muxpilot.server.lifecycle import serve_stdio

    asyncio.run(serve_stdio(settings, handover))
    return 0


def _load_engine() -> None:
    """Load what serving needs. It takes much longer than the first answers."""
    with _garbage_collection_paused():
        import muxpilot.server.lifecycle  # noqa: F401


def _serve_http(settings: Settings, http: HttpSettings) -> int:
    from muxpilot.web.listen import open_listeners, read_token  # report their errors before the slow import

    secret, sockets = read_token(http), open_listeners(http)
    _check_tmux(settings)
    with _garbage_collection_paused():
        import asyncio

        from muxpilot.server.http_server import serve_http

    def announce(address: str) -> None:
        print(f"muxpilot: serving MCP at {address}", file=sys.stderr, flush=True)

    asyncio.run(serve_http(settings, sockets, token=secret, announce=announce))
    return 0


def _check_tmux(settings: Settings) -> None:
    if settings.ssh is None:  # over ssh, the tmux of the other host counts; it is checked when it is used
        from muxpilot.tmux.version import require_installed

        require_installed()


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Pause garbage collection for an import, and exempt what is imported from later collections."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()
