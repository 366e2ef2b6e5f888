"""The processes that this one descends from, the nearest first: itself, its parent, and so on."""

from __future__ import annotations

import os
import subprocess
from functools import lru_cache

from muxpilot.processes.proc import PROC, find_stat, has_proc
from muxpilot.records import record

_PS = ("ps", "-axo", "pid=,ppid=,comm=")
_PS_LIMIT_S = 2.0
_LONGEST_LINE = 256  # more ancestors than any process has: a table that changes may have a loop


@record
class Ancestor:
    """A process, the process that started it, and the name of its program."""

    pid: int
    parent: int
    name: str


def find_ancestors() -> tuple[Ancestor, ...]:
    """Return this process and those above it. They are looked for once."""
    return _find_from(os.getpid())  # a forked process has its own


@lru_cache(maxsize=1)
def _find_from(pid: int) -> tuple[Ancestor, ...]:
    find = _find_in_proc if has_proc() else _read_ps_table().get
    found: list[Ancestor] = []
    while pid > 1 and len(found) < _LONGEST_LINE and (process := find(pid)) is not None:
        found.append(process)
        pid = process.parent
    return tuple(found)


def _find_in_proc(pid: int) -> Ancestor | None:
    stat = find_stat(PROC, pid)
    return Ancestor(pid, stat.parent, stat.name) if stat is not None else None


def _read_ps_table() -> dict[int, Ancestor]:
    """Return all processes by their pids, or none if there is no `ps`."""
    try:
        done = subprocess.run(_PS, capture_output=True, text=True, timeout=_PS_LIMIT_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return {}
    rows = [line.split(None, 2) for line in done.stdout.splitlines()]
    return {
        int(row[0]): Ancestor(int(row[0]), int(row[1]), os.path.basename(row[2]))
        for row in rows
        if len(row) == 3 and row[0].isdecimal() and row[1].isdecimal()
    }
