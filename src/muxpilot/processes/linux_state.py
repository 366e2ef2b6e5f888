"""The state of a pane on Linux: /proc and the terminal's mode, taken at one moment."""

from __future__ import annotations

from muxpilot.processes.decide import ForegroundState, decide, unknown_state
from muxpilot.processes.facts import ForegroundProcess, WaitKind
from muxpilot.processes.foreground_group import (
    find_detached_children,
    find_foreground_group,
    inspect_processes,
)
from muxpilot.processes.proc import ProcessStat, ProcReader, TerminalDevice, find_stat, terminal_path
from muxpilot.processes.terminal_mode import TerminalMode, read_terminal_mode

# These run a program on a terminal of its own, poll ours in raw mode meanwhile, and forward everything.
_RELAYS = frozenset("script scriptlive sudo su doas runuser apt apt-get unbuffer expect setpriv".split())
_MOST_RELAYS = 3
_MOST_READS = 3


def read_linux_state(proc: ProcReader, pid: int, tty: str, *, depth: int = _MOST_RELAYS) -> ForegroundState:
    """Return the state of the terminal of a process, or of the terminal behind up to `depth` relays."""
    root = find_stat(proc, pid)
    if root is None or root.is_gone:
        return unknown_state("its process has ended")
    if root.foreground_group <= 0:
        return unknown_state("its process has no terminal")
    state = decide(*_read_at_one_moment(proc, root, tty))
    if depth and state.foreground_cmd in _RELAYS and state.waiting_for == "key":
        inner = _find_relayed(proc, state, root)
        path = terminal_path(inner.tty) if inner else None
        if inner is not None and path is not None:
            return read_linux_state(proc, inner.pid, path, depth=depth - 1)
    return state


def _read_at_one_moment(
    proc: ProcReader, root: ProcessStat, tty: str
) -> tuple[list[ForegroundProcess], TerminalMode | None]:
    """Return the foreground processes and a mode that was the same before and after they were read.

    A shell that takes its line changes the mode. Its prompt with the new mode would look like its `read`.
    """
    terminal, mode = TerminalDevice.find(tty, root.tty), read_terminal_mode(tty)
    for _ in range(_MOST_READS):
        before, group = mode, _inspect_foreground(proc, root, terminal)
        mode = read_terminal_mode(tty)
        if mode == before:
            break
    return group, mode


def _inspect_foreground(
    proc: ProcReader, root: ProcessStat, terminal: TerminalDevice
) -> list[ForegroundProcess]:
    group = find_foreground_group(proc, root)
    inspected = inspect_processes(proc, group, terminal)
    if any(process.blocked_on.wait >= WaitKind.POLLS for process in inspected):
        return inspected
    others = inspect_processes(proc, find_detached_children(proc, group), terminal)
    return inspected + [process for process in others if process.blocked_on.wait >= WaitKind.POLLS]


def _find_relayed(proc: ProcReader, state: ForegroundState, root: ProcessStat) -> ProcessStat | None:
    """Return the process that a relay has started on a terminal of its own."""
    for pid in state.group:
        try:
            children = proc.children(pid)
        except OSError:
            continue
        for child in children:
            stat = find_stat(proc, child)
            if stat is not None and stat.tty not in (0, root.tty):
                return stat
    return None
