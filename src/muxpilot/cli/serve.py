"""No command: serve MCP. At a terminal, print what muxpilot is instead of waiting silently for JSON."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from muxpilot.cli.import_time import leave_out_openssl, pause_garbage_collection
from muxpilot.config.model import HttpSettings, Settings
from muxpilot.errors import BadInput
from muxpilot.server.first_answers import answer_first
from muxpilot.server.manifest import load_manifest

if TYPE_CHECKING:
    from socket import socket  # a stdio server starts without it

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
        with pause_garbage_collection(), leave_out_openssl():
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
    with pause_garbage_collection(), leave_out_openssl():
        import muxpilot.server.lifecycle  # noqa: F401 - only loaded


def _serve_http(settings: Settings, http: HttpSettings) -> int:
    from muxpilot.web.listen import open_listeners, read_token  # report their errors before the slow import

    secret, sockets = read_token(http), open_listeners(http)
    _check_tmux(settings)
    if http.workers > 1:
        return _serve_by_workers(settings, http, secret=secret, sockets=sockets)
    with pause_garbage_collection():
        import asyncio

        from muxpilot.server.http_server import serve_http

    asyncio.run(serve_http(settings, sockets, token=secret, announce=_announce))
    return 0


def _serve_by_workers(
    settings: Settings, http: HttpSettings, *, secret: bytes | None, sockets: Sequence[socket]
) -> int:
    import asyncio

    from muxpilot.server.http_supervisor import Supervisor, plan_workers
    from muxpilot.tmux.hosts.temporary_folder import TemporaryFolder

    folder = TemporaryFolder()
    orders = plan_workers(settings, http, token=secret, listeners=sockets, folder=folder.path)

    async def supervise() -> int:
        return await Supervisor(orders).run(_announce)

    try:
        return asyncio.run(supervise())
    finally:
        folder.close()


def _announce(address: str) -> None:
    print(f"muxpilot: serving MCP at {address}", file=sys.stderr, flush=True)


def _check_tmux(settings: Settings) -> None:
    if not settings.is_far:  # there, the tmux of the other host counts; it is checked when it is used
        from muxpilot.tmux.version import require_installed

        require_installed()
