"""The program of a pane's pipe: whether it still runs, and whether it has written all that it was given."""

from __future__ import annotations

import os
from pathlib import Path

from muxpilot.processes.identity import process_exists
from muxpilot.processes.proc import PROC, find_stat, has_proc

_WAITS = "S"


def runs_with_word(pid: int, word: str) -> bool:
    """Return whether a process has this word in its command line: another one may have its pid by now."""
    if not has_proc():
        return process_exists(pid)
    try:
        return os.fsencode(word) in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def can_list_children(pid: int) -> bool:
    """Return whether the kernel lists the children of a process."""
    return Path(f"/proc/{pid}/task/{pid}/children").exists()


def has_waiting_children(shell: int) -> bool:
    """Return whether the programs that a shell has started wait. It may have none at the moment."""
    try:
        children = _children(shell)
        while inner := [pid for child in children for pid in _children(child)]:
            children = inner  # some shells start a program from another process of theirs
    except OSError:
        return not process_exists(shell)
    stats = [find_stat(PROC, child) for child in children]
    return bool(stats) and all(stat is not None and stat.state == _WAITS for stat in stats)


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
