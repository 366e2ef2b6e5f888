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

from muxpilot.tmux.models import Pane

_TRIES = 20
_PAUSE_S = 0.005


def is_unexplained(pane: Pane) -> bool:
    return pane.is_dead and pane.dead_status is None and pane.dead_signal is None


async def explained(
    panes: Sequence[Pane], ask_again: Callable[[], Awaitable[Sequence[Pane]]]
) -> Sequence[Pane]:
    """The same panes with their statuses; what tmux never learns stays unknown."""
    for _ in range(_TRIES):
        unexplained = [pane for pane in panes if is_unexplained(pane)]
        if not unexplained or not await _remind(unexplained[0]):
            break
        await asyncio.sleep(_PAUSE_S)
        panes = await ask_again()
    return panes


async def _remind(pane: Pane) -> bool:
    if pane.far is None:
        return _signal(pane.server_pid)
    await pane.far(f"kill -CHLD {pane.server_pid}")
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
