"""Which programs run in a session, besides shells at their prompts.

A session in which something runs is never ended because it is idle: a program that prints nothing may be at
work. What cannot be seen counts as running.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from muxpilot.errors import NotFound
from muxpilot.processes.proc import PROC, find_stat, has_proc
from muxpilot.processes.state import read_state
from muxpilot.shell_table import recognize_shell, takes_commands
from muxpilot.tmux import Pane, PaneId, Tmux
from muxpilot.tmux.objects.launch import is_launcher

# Programs that shells start for their prompts, and that run for as long as the shell does.
_PROMPT_HELPERS = ("gitstatusd", "fsmonitor")
_BACKGROUND = "a program in the background"


async def find_running_program(tmux: Tmux, panes: Iterable[PaneId]) -> str | None:
    """Return the name of a program that runs in one of these panes, or None."""
    for pane in panes:
        try:
            row = await tmux.panes.get(pane)
        except NotFound:
            continue  # it has ended meanwhile
        name = None if row.is_dead else await _find_in_pane(tmux, row)
        if name is not None:
            return name
    return None


async def _find_in_pane(tmux: Tmux, row: Pane) -> str | None:
    state = await read_state(row)
    if not state.is_at_shell_prompt:
        return state.foreground_cmd or "a program that cannot be seen"
    processes = await tmux.endings.list_processes(row.id)
    if processes is None:
        return None
    if row.remote_shell is not None or not has_proc():
        return _BACKGROUND if len(processes) > 1 else None
    return await asyncio.to_thread(_find_command, processes)


def _find_command(processes: Iterable[int]) -> str | None:
    """Return the name of a process that is neither a shell that takes commands nor a helper of its prompt.

    The parent of a command that a pane was opened with is ours, and no program of the session.
    """
    for pid in processes:
        stat = find_stat(PROC, pid)
        if stat is None or stat.is_gone or stat.name.startswith(_PROMPT_HELPERS):
            continue
        try:
            argv = PROC.argv(pid)
        except OSError:
            argv = []
        if is_launcher(argv):
            continue
        kind = recognize_shell([stat.name], argv or [stat.name])
        if kind is None or not takes_commands(kind, argv):
            return stat.name
    return None
