"""The exit status of a pane that is gone, as a hook of the pane has left it in an option of the server.

tmux forgets a pane with its status. A pane with this hook is kept by remain-on-exit until the hook has run.
"""

from __future__ import annotations

import re
from contextlib import suppress

from muxpilot.errors import MuxpilotError
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.streams.stream import ExitStatus

_OPTION = "@muxpilot_exit_"
# A hook is an array: with a number of our own, hooks that a person has set in the pane stay as they are.
_HOOK_NAME = "pane-died"
_OWN_HOOK = f"{_HOOK_NAME}[7717]"
# Holds the value that remain-on-exit had, while a muxpilot keeps a pane to read how its program ends.
# Other versions of muxpilot read this option too, so its name must stay as it is.
REMAINED_OPTION = "@muxpilot_remained"
_VALUE = re.compile(r"([0-9]{0,3}) ([0-9]{0,3})")
_SIGNAL_STATUS = 128


def set_hook_command(pane: PaneId, *, is_kept: str) -> Command:
    """Return the command that sets the hook: it keeps the status, and closes the pane.

    The pane is not closed if the /bin/sh text `is_kept` succeeds; formats in it are expanded. Nor is it
    closed if a person's own hook, which runs first, has started another program in it.
    """
    write = f'set-option -gF {_OPTION}{pane[1:]} "#{{pane_dead_status}} #{{pane_dead_signal}}"'
    close = f'if-shell "[ #{{pane_dead}} != 1 ] || {is_kept}" "" "kill-pane -t {pane}"'
    return ("set-hook", "-p", "-t", pane, _OWN_HOOK, f"{write} ; {close}")


def remove_hook_command(pane: PaneId) -> Command:
    return ("set-hook", "-p", "-u", "-t", pane, _OWN_HOOK)


async def drop_empty_hooks(connection: Connection, pane: PaneId) -> None:
    """Remove what is left of the pane's hooks where ours was the only one: it hides those of the window."""
    reply = await connection.run(("show-hooks", "-p", "-t", pane))
    if not any(line.startswith(f"{_HOOK_NAME}[".encode()) for line in reply.blocks[0].lines):
        await connection.run(("set-hook", "-p", "-u", "-t", pane, _HOOK_NAME))


async def read_exit(connection: Connection, pane: PaneId) -> ExitStatus | None:
    """Return how the program of a pane has ended, if the hook has kept it."""
    ask = ("show-options", "-gqv", f"{_OPTION}{pane[1:]}")
    with suppress(MuxpilotError):  # the server has ended, and its options with it
        found = _VALUE.fullmatch((await connection.run(ask, repeatable=True)).first_line)
        if found is not None and (found[1] or found[2]):
            signal = int(found[2]) if found[2] else None
            return ExitStatus(int(found[1]) if found[1] else _SIGNAL_STATUS + (signal or 0), signal)
    return None


async def forget_exit(connection: Connection, pane: PaneId) -> None:
    """Remove what the hook has kept."""
    with suppress(MuxpilotError):
        await connection.run(("set-option", "-gqu", f"{_OPTION}{pane[1:]}"))
