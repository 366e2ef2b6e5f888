"""The programs in front: the foreground process group of a terminal, as facts to judge by."""

from __future__ import annotations

from collections.abc import Iterator
from os.path import basename

from muxpilot.processes.facts import Blocked, Program, Wait
from muxpilot.processes.proc import Kernel, Stat, Terminal, asked
from muxpilot.processes.shell_programs import family, takes_commands
from muxpilot.processes.system_calls import blocked

_MOST_PROCESSES = 4096
_MOST_ASKED = 256
_FEW = 16
_MOST_THREADS = 128


def members(kernel: Kernel, root: Stat) -> list[Stat]:
    """The foreground group of the root's terminal, its leader first."""
    found = [stat for stat in _descendants(kernel, root) if _is_in_front(stat, root)]
    if not any(not stat.is_gone for stat in found):
        found = [stat for stat in _all(kernel) if _is_in_front(stat, root)]
    return sorted(found, key=lambda stat: stat.pid != root.front)


def _is_in_front(stat: Stat, root: Stat) -> bool:
    return stat.group == root.front and stat.tty == root.tty


def _descendants(kernel: Kernel, root: Stat) -> Iterator[Stat]:
    """Those on the same terminal: who has left it has no child that is on it."""
    waiting, seen = [root], 0
    while waiting and seen < _MOST_PROCESSES:
        stat = waiting.pop()
        seen += 1
        yield stat
        try:
            children = kernel.children(stat.pid)
        except OSError:
            continue
        waiting += [
            child for pid in reversed(children) if (child := asked(kernel, pid)) and child.tty == root.tty
        ]


def _all(kernel: Kernel) -> Iterator[Stat]:
    for pid in kernel.processes():
        if stat := asked(kernel, pid):
            yield stat


def detached(kernel: Kernel, group: list[Stat]) -> list[Stat]:
    """What those in front started without a terminal of its own; it may read theirs, as with `su -c`."""
    waiting, found = list(group), list[Stat]()
    while waiting and len(found) < _MOST_ASKED:
        try:
            children = kernel.children(waiting.pop().pid)
        except OSError:
            continue
        new = [stat for pid in children if (stat := asked(kernel, pid)) and not stat.tty and not stat.is_gone]
        waiting += new
        found += new
    return found


def programs(kernel: Kernel, group: list[Stat], tty: Terminal) -> list[Program]:
    """All threads are asked of the first few only: a group of hundreds is a build, not a dialogue."""
    few = {stat.pid for stat in group[:_FEW]}
    return [_program(kernel, stat, tty, all_threads=stat.pid in few) for stat in group[:_MOST_ASKED]]


def _program(kernel: Kernel, stat: Stat, tty: Terminal, *, all_threads: bool) -> Program:
    argv, exe = _argv(kernel, stat.pid), _exe(kernel, stat.pid)
    is_idle = stat.is_gone or stat.is_stopped
    return Program(
        stat.pid,
        _name(stat, argv),
        stat.state,
        stat.pid == stat.group,
        _shell(kernel, stat, [exe] if exe else [stat.name, _name(stat, argv)], argv, tty),
        Blocked(Wait.ELSEWHERE) if is_idle else _most(kernel, stat, tty, all_threads=all_threads),
    )


def _argv(kernel: Kernel, pid: int) -> list[str]:
    try:
        return kernel.argv(pid)
    except OSError:
        return []


def _exe(kernel: Kernel, pid: int) -> str:
    try:
        return basename(kernel.exe(pid))
    except OSError:
        return ""


def _name(stat: Stat, argv: list[str]) -> str:
    """As tmux shows it: the first word, not the name of a thread; but not a title that was put there."""
    first = argv[0] if argv else ""
    return basename(first).lstrip("-") if first and " " not in first else stat.name


def _shell(kernel: Kernel, stat: Stat, names: list[str], argv: list[str], tty: Terminal) -> str | None:
    kind = family(names, argv)
    if kind is None or not takes_commands(kind, argv) or _is_fork(kernel, stat):
        return None
    try:
        return kind if kernel.is_terminal(stat.pid, 0, tty) else None
    except OSError:
        return kind


def _is_fork(kernel: Kernel, stat: Stat) -> bool:
    """A subshell looks like its shell: only the addresses tell that it is no program of its own."""
    parent = asked(kernel, stat.parent)
    return parent is not None and stat.image > 1 and parent.image == stat.image


def _most(kernel: Kernel, stat: Stat, tty: Terminal, *, all_threads: bool) -> Blocked:
    """The first thread is nearly always the one; others are asked only while nothing is found."""
    best = blocked(kernel, stat.pid, stat.pid, tty)
    if best.wait >= Wait.POLLS or stat.threads < 2 or not all_threads:
        return best
    try:
        threads = kernel.threads(stat.pid)[:_MOST_THREADS]
    except OSError:
        return best
    for thread in threads:
        if best.wait >= Wait.POLLS:
            break
        best = max(best, blocked(kernel, stat.pid, thread, tty), key=lambda found: found.wait)
    return best
