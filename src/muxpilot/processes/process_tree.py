"""The processes of a pane: found by a mark in their environment, and ended whatever they ignore.

A mark is inherited, so a process that left the terminal still has it. Who cleans the environment is
found as a member of a marked session leader's session, or as a child. Where there is no /proc, nothing is
found, and the end of the terminal has to do.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from muxpilot.processes.identity import Process, Row, row_of

VARIABLE = "MUXPILOT_DEBUG_PANE"

_PAUSE_S = 0.02
_GRACE_S = 0.3
_LIMIT_S = 1.0


def marked(mark: str) -> set[Process]:
    """Every process of the panes whose mark begins so, but never ourselves or those above us."""
    rows = {row.pid: row for row in _rows()}
    found = {pid for pid in rows if _has(pid, mark)}
    leaders = {pid for pid in found if rows[pid].session == pid}
    while True:
        more = {row.pid for row in rows.values() if row.parent in found or row.session in leaders} - found
        if not more:
            break
        found |= more
    return {Process(pid, rows[pid].start) for pid in found - _above(rows)}


def end(mark: str, known: set[Process]) -> None:
    """SIGTERM, some grace, then SIGKILL until nothing is left; all of it bounded.

    It blocks, so that nothing can stop it half-way: neither a caller who does not wait nor a loop that ends.
    """
    remaining = known | marked(mark)
    _send(remaining, signal.SIGTERM)
    give_up = time.monotonic() + _GRACE_S
    while (remaining := _left(remaining)) and time.monotonic() < give_up:
        time.sleep(_PAUSE_S)
    give_up = time.monotonic() + _LIMIT_S
    # What it started meanwhile has its mark too.
    while remaining := _left(remaining) | marked(mark):
        _send(remaining, signal.SIGKILL)
        if time.monotonic() > give_up:
            break
        time.sleep(_PAUSE_S)


def _left(processes: set[Process]) -> set[Process]:
    return {process for process in processes if process.is_there}


def _above(rows: dict[int, Row]) -> set[int]:
    found: set[int] = set()
    pid = os.getpid()
    while pid in rows and pid not in found:
        found.add(pid)
        pid = rows[pid].parent
    return found


def _rows() -> Iterator[Row]:
    with suppress(OSError):
        for name in os.listdir("/proc"):
            row = row_of(int(name)) if name.isdigit() else None
            if row is not None:
                yield row


def _send(processes: set[Process], number: signal.Signals) -> None:
    for process in _left(processes):
        with suppress(OSError):
            os.kill(process.pid, number)


def _has(pid: int, mark: str) -> bool:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"\0{VARIABLE}={mark}".encode() in b"\0" + variables
