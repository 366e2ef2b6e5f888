"""Wait until all output that tmux has read from a pane is in the pane's journal.

tmux writes to the pipe in a later turn of its event loop, and dd writes what it has read before it reads
again. So after two replies of tmux, a dd that waits has written everything.
"""

from __future__ import annotations

import asyncio

from muxpilot.processes.pipe_program import can_list_children, has_waiting_children
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.streams.journal_source import JournalSource

_PING = ("display-message", "-p", "here")
_LIMIT_S = 0.5
_PAUSE_S = 0.002
# Where the state of a process cannot be read, silence of this length must do.
_SILENCE_S = 0.02


async def wait_until_written(connection: Connection, source: JournalSource) -> None:
    """Wait until the journal has all that tmux has read so far, but not for long while the pane prints."""
    for _ in range(2):
        await connection.run(_PING, repeatable=True)
    give_up = asyncio.get_running_loop().time() + _LIMIT_S
    pid = source.generation.writer_pid
    is_known = pid is not None and can_list_children(pid)
    while pid is not None and is_known and not has_waiting_children(pid):
        if asyncio.get_running_loop().time() > give_up:
            break
        await asyncio.sleep(_PAUSE_S)  # no event tells that a process waits
    if not is_known:
        await asyncio.sleep(_SILENCE_S)
    source.read_now()
