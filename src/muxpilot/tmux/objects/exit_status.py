"""The exit status of panes whose death tmux has seen but not understood.

Debian's tmux 3.3a loses the signal that tells it how a pane's program ended: the pane is dead and its
status empty for ever. Told once more to look at its children, it finds it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from muxpilot.tmux.models import ListedPane

Row = TypeVar("Row", bound=ListedPane)

_TRIES = 20
_PAUSE_S = 0.005


def is_unexplained(pane: ListedPane) -> bool:
    return pane.is_dead and pane.dead_status is None and pane.dead_signal is None


async def explained(
    ask: Callable[[], Awaitable[Sequence[Row]]], server_pid: Callable[[], Awaitable[int]]
) -> Sequence[Row]:
    """What `ask` answers, with statuses; what tmux never learns stays unknown."""
    panes = await ask()
    for _ in range(_TRIES):
        unexplained = [pane for pane in panes if is_unexplained(pane)]
        if not unexplained or not await _remind(unexplained[0], await server_pid()):
            break
        await asyncio.sleep(_PAUSE_S)
        panes = await ask()
    return panes


async def _remind(pane: ListedPane, server_pid: int) -> bool:
    if pane.far is None:
        return _signal(server_pid)
    await pane.far(f"kill -CHLD {server_pid}")
    return True


def _signal(server_pid: int) -> bool:
    """Only a tmux of this machine and this user: the pid may be another's, in another namespace."""
    try:
        if not Path(f"/proc/{server_pid}/comm").read_text().startswith("tmux"):
            return False
        os.kill(server_pid, signal.SIGCHLD)
    except OSError:
        return False
    return True
