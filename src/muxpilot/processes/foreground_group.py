"""The foreground process group of a terminal, as facts for `decide`."""

from __future__ import annotations

from collections.abc import Iterator
from os.path import basename

from muxpilot.processes.facts import BlockedOn, ForegroundProcess, WaitKind
from muxpilot.processes.proc import ProcessStat, ProcReader, TerminalDevice, find_stat
from muxpilot.processes.screen_programs import name_behind_link
from muxpilot.processes.system_calls import find_wait
from muxpilot.shell_table import ShellKind, recognize_shell, takes_commands

_MOST_PROCESSES = 4096
_MOST_INSPECTED = 256
_MOST_WITH_ALL_THREADS = 16
_MOST_THREADS = 128


def find_foreground_group(proc: ProcReader, root: ProcessStat) -> list[ProcessStat]:
    """Return the foreground group of the root's terminal, its leader first."""
    found = [stat for stat in _walk_descendants(proc, root) if _is_in_foreground(stat, root)]
    if not any(not stat.is_gone for stat in found):
        # Its processes are not descendants of the pane's, or the kernel lists no children.
        found = [stat for stat in _walk_all(proc) if _is_in_foreground(stat, root)]
    return sorted(found, key=lambda stat: stat.pid != root.foreground_group)


def _is_in_foreground(stat: ProcessStat, root: ProcessStat) -> bool:
    return stat.group == root.foreground_group and stat.tty == root.tty


def _walk_descendants(proc: ProcReader, root: ProcessStat) -> Iterator[ProcessStat]:
    """Yield the descendants on the same terminal; a process that left it has no child on it."""
    waiting, seen = [root], 0
    while waiting and seen < _MOST_PROCESSES:
        stat = waiting.pop()
        seen += 1
        yield stat
        try:
            children = proc.children(stat.pid)
        except OSError:
            continue
        waiting += [
            child for pid in reversed(children) if (child := find_stat(proc, pid)) and child.tty == root.tty
        ]


def _walk_all(proc: ProcReader) -> Iterator[ProcessStat]:
    for pid in proc.all_pids():
        if stat := find_stat(proc, pid):
            yield stat


def find_detached_children(proc: ProcReader, group: list[ProcessStat]) -> list[ProcessStat]:
    """Return descendants of the group without a terminal; they may read the group's, as with `su -c`."""
    waiting, found = list(group), list[ProcessStat]()
    while waiting and len(found) < _MOST_INSPECTED:
        try:
            children = proc.children(waiting.pop().pid)
        except OSError:
            continue
        new = [
            stat for pid in children if (stat := find_stat(proc, pid)) and not stat.tty and not stat.is_gone
        ]
        waiting += new
        found += new
    return found


def inspect_processes(
    proc: ProcReader, group: list[ProcessStat], tty: TerminalDevice
) -> list[ForegroundProcess]:
    """Return the facts about each process of a group.

    All threads are read of the first few only: a group of hundreds is a build, not a dialogue.
    """
    few = {stat.pid for stat in group[:_MOST_WITH_ALL_THREADS]}
    return [_inspect(proc, stat, tty, all_threads=stat.pid in few) for stat in group[:_MOST_INSPECTED]]


def _inspect(
    proc: ProcReader, stat: ProcessStat, tty: TerminalDevice, *, all_threads: bool
) -> ForegroundProcess:
    argv, exe = _argv(proc, stat.pid), _exe_name(proc, stat.pid)
    is_idle = stat.is_gone or stat.is_stopped
    return ForegroundProcess(
        stat.pid,
        name_behind_link(_command_name(stat, argv), exe),
        stat.state,
        stat.pid == stat.group,
        _find_shell(proc, stat, [exe] if exe else [stat.name, _command_name(stat, argv)], argv, tty),
        BlockedOn(WaitKind.ELSEWHERE)
        if is_idle
        else _find_process_wait(proc, stat, tty, all_threads=all_threads),
    )


def _argv(proc: ProcReader, pid: int) -> list[str]:
    try:
        return proc.argv(pid)
    except OSError:
        return []


def _exe_name(proc: ProcReader, pid: int) -> str:
    try:
        return basename(proc.exe(pid))
    except OSError:
        return ""


def _command_name(stat: ProcessStat, argv: list[str]) -> str:
    """Return the name that tmux shows: the first word of argv, not the name of a thread.

    A first word with a space in it is a title that the program has set.
    """
    first = argv[0] if argv else ""
    return basename(first).lstrip("-") if first and " " not in first else stat.name


def _find_shell(
    proc: ProcReader, stat: ProcessStat, names: list[str], argv: list[str], tty: TerminalDevice
) -> ShellKind | None:
    kind = recognize_shell(names, argv)
    if kind is None or not takes_commands(kind, argv) or _is_fork(proc, stat):
        return None
    try:
        return kind if proc.is_terminal(stat.pid, 0, tty) else None
    except OSError:
        return kind


def _is_fork(proc: ProcReader, stat: ProcessStat) -> bool:
    """Return whether a process is a subshell: it looks like its shell, down to the address of its stack."""
    parent = find_stat(proc, stat.parent)
    return parent is not None and stat.image > 1 and parent.image == stat.image


def _find_process_wait(
    proc: ProcReader, stat: ProcessStat, tty: TerminalDevice, *, all_threads: bool
) -> BlockedOn:
    """Return what a process waits for: its main thread nearly always says it, else one of the others."""
    best = find_wait(proc, stat.pid, stat.pid, tty)
    if best.wait >= WaitKind.POLLS or stat.threads < 2 or not all_threads:
        return best
    try:
        threads = proc.threads(stat.pid)[:_MOST_THREADS]
    except OSError:
        return best
    for thread in threads:
        if best.wait >= WaitKind.POLLS:
            break
        best = max(best, find_wait(proc, stat.pid, thread, tty), key=lambda found: found.wait)
    return best
