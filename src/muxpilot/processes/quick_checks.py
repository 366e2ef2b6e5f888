"""Cheap questions about a process of this machine: one or a few reads of /proc, asked often.

Each returns None, or the answer that changes nothing, where the system does not say.
"""

from __future__ import annotations

import signal

from muxpilot.processes.proc import PROC, ProcReader, find_stat

_MOST_PROCESSES = 64


def foreground_group_of(pid: int, *, proc: ProcReader = PROC) -> int | None:
    """Return the process group in the foreground of a process's terminal."""
    stat = find_stat(proc, pid)
    return stat.foreground_group if stat is not None else None


def is_in_foreground(pid: int, pane_pid: int, *, proc: ProcReader = PROC) -> bool | None:
    """Return whether a process is in the foreground of the terminal of a pane."""
    process = find_stat(proc, pid)
    root = process if pid == pane_pid else find_stat(proc, pane_pid)
    if root is None or process is None or process.tty != root.tty:
        return None
    return root.foreground_group == process.group


def program_image(pid: int, *, proc: ProcReader = PROC) -> int | None:
    """Return a number that changes when a process becomes another program (exec)."""
    stat = find_stat(proc, pid)
    return stat.image if stat is not None and stat.image else None


def reaped_children(pid: int, *, proc: ProcReader = PROC) -> int | None:
    """Return a number that grows with every child that a process has waited for."""
    stat = find_stat(proc, pid)
    return stat.reaped_faults if stat is not None else None


def foreground_ignores_interrupts(pid: int, *, proc: ProcReader = PROC) -> bool:
    """Return whether the program in the foreground of a process's terminal ignores SIGINT."""
    group = foreground_group_of(pid, proc=proc)
    try:
        ignored = proc.ignored_signals(group) if group is not None else 0
    except (OSError, ValueError, IndexError):
        return False
    return bool(ignored >> (signal.SIGINT - 1) & 1)


def activity_signature(pid: int, *, proc: ProcReader = PROC) -> object | None:
    """Return a value that changes when a descendant of a process has run, or the foreground is another."""
    try:
        signature: list[object] = [proc.stat(pid).foreground_group]
        waiting = [pid]
        while waiting and len(signature) < _MOST_PROCESSES:
            process = waiting.pop()
            try:
                signature.append(proc.run_counters(process))
                waiting += proc.children_of_thread(process, process)
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended
    except (OSError, ValueError, IndexError):
        return None
    return signature


def processes_below(pid: int, pane_pid: int, *, proc: ProcReader = PROC) -> list[int]:
    """Return the processes that a foreground program was started from, the nearest first.

    The nearest is the shell that gave it the terminal: the first that is not in the program's group.
    """
    front, found = find_stat(proc, pid), list[int]()
    stat = front
    while front is not None and stat is not None and stat.pid != pane_pid and len(found) < _MOST_PROCESSES:
        stat = find_stat(proc, stat.parent)
        if stat is not None and stat.group != front.group:
            found.append(stat.pid)
    return found


def command_line(pid: int, *, proc: ProcReader = PROC) -> list[str]:
    """Return the arguments of a process, its name first; empty if it is gone."""
    try:
        return proc.argv(pid)
    except OSError:
        return []
