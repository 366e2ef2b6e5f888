"""The exit status of dead panes, also where tmux lost it.

Debian's tmux 3.3a sometimes loses the SIGCHLD of a pane's program: the pane is dead, but its status stays
empty. Another SIGCHLD makes tmux look at its children again and find the status.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from muxpilot.processes.proc import PROC, find_stat
from muxpilot.tmux.models import ListedPane
from muxpilot.trace import area

PaneRow = TypeVar("PaneRow", bound=ListedPane)

_trace = area("tmux")
_TRIES = 20
_PAUSE_S = 0.005


def lacks_exit_status(pane: ListedPane) -> bool:
    return pane.is_dead and pane.dead_status is None and pane.dead_signal is None


async def with_exit_status(
    ask: Callable[[], Awaitable[Sequence[PaneRow]]], server_pid: Callable[[], Awaitable[int]]
) -> Sequence[PaneRow]:
    """Return the panes that `ask` returns, asking again until dead ones have a status or tmux has none."""
    panes = await ask()
    for _ in range(_TRIES):
        lacking = [pane for pane in panes if lacks_exit_status(pane)]
        if not lacking or not await _resend_sigchld(lacking[0], await server_pid()):
            break
        _trace.debug(
            "SIGCHLD sent to tmux", pane=lacking[0].id, why="it has no exit status", count=len(lacking)
        )
        await asyncio.sleep(_PAUSE_S)
        panes = await ask()
    return panes


async def _resend_sigchld(pane: ListedPane, server_pid: int) -> bool:
    if pane.remote_shell is None:
        return _signal_local_server(server_pid)
    await pane.remote_shell(f"kill -CHLD {server_pid}")
    return True


def _signal_local_server(server_pid: int) -> bool:
    """Send SIGCHLD if the pid is a tmux. In another pid namespace it may be another process."""
    stat = find_stat(PROC, server_pid)
    if stat is None or not stat.name.startswith("tmux"):
        return False
    try:
        os.kill(server_pid, signal.SIGCHLD)
    except OSError:
        return False
    return True
