"""Wait until all output that tmux has read from a pane is in the pane's journal.

tmux writes to the pipe in a later turn of its event loop, and dd writes what it has read before it reads
again. So after two replies of tmux, a dd that waits has written everything.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from muxpilot.processes.proc import PROC, find_stat
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.streams.journal_source import JournalSource

_PING = ("display-message", "-p", "here")
_LIMIT_S = 0.5
_PAUSE_S = 0.002
# Where the state of a process cannot be read, silence of this length must do.
_SILENCE_S = 0.02
_WAITS = "S"


async def wait_until_written(connection: Connection, source: JournalSource) -> None:
    """Wait until the journal has all that tmux has read so far, but not for long while the pane prints."""
    for _ in range(2):
        await connection.run(_PING, repeatable=True)
    give_up = asyncio.get_running_loop().time() + _LIMIT_S
    pid = source.generation.writer_pid
    is_known = pid is not None and Path(f"/proc/{pid}/task/{pid}/children").exists()
    while pid is not None and is_known and not _is_waiting(pid):
        if asyncio.get_running_loop().time() > give_up:
            break
        await asyncio.sleep(_PAUSE_S)  # no event tells that a process waits
    if not is_known:
        await asyncio.sleep(_SILENCE_S)
    source.read_now()


def _is_waiting(shell: int) -> bool:
    """Return whether the shell's dd waits for input. Between two of them the shell has no child."""
    try:
        children = _children(shell)
        while inner := [pid for child in children for pid in _children(child)]:
            children = inner  # some shells start dd from another process of theirs
    except OSError:
        return not Path(f"/proc/{shell}/task").exists()  # the shell has ended
    stats = [find_stat(PROC, child) for child in children]
    return bool(stats) and all(stat is not None and stat.state == _WAITS for stat in stats)


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
