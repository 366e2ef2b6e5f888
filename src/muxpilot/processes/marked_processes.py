"""Processes with a mark in their environment: find them all, and end them whatever they ignore.

Children inherit the mark, so a process that left the terminal still has it. A process that cleans its
environment is found as a child of a marked one, or as a member of a marked session leader's session.
Without /proc nothing is found, and only the end of the terminal ends them.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

from muxpilot.processes.identity import ProcessIdentity
from muxpilot.processes.proc import PROC, ProcessStat, find_stat
from muxpilot.trace import area

MARK_VARIABLE = "MUXPILOT_DEBUG_PANE"

_trace = area("processes")

_PAUSE_S = 0.02
# Programs get this long to react to SIGTERM, and the kernel this long to end those that did not.
_GRACE_S = 0.3
_LIMIT_S = 1.0


def find_marked(mark: str) -> set[ProcessIdentity]:
    """Return every process whose mark begins so and what it started, but not us or our ancestors."""
    stats = {stat.pid: stat for stat in _running_processes()}
    found = {pid for pid in stats if _has_mark(pid, mark)}
    leaders = {pid for pid in found if stats[pid].session == pid}
    while True:
        more = {
            stat.pid for stat in stats.values() if stat.parent in found or stat.session in leaders
        } - found
        if not more:
            break
        found |= more
    return {ProcessIdentity(pid, stats[pid].start_time) for pid in found - _ancestors(stats)}


def end_marked(mark: str, known: set[ProcessIdentity]) -> None:
    """Send SIGTERM, wait a little, then send SIGKILL until nothing is left; all of it is bounded.

    It blocks on purpose: neither a caller that stops waiting nor an event loop that ends can interrupt it.
    """
    remaining = known | find_marked(mark)
    _trace.debug("ending marked processes", processes=len(remaining))
    _send(remaining, signal.SIGTERM)
    give_up = time.monotonic() + _GRACE_S
    while (remaining := _keep_running(remaining)) and time.monotonic() < give_up:
        time.sleep(_PAUSE_S)
    give_up = time.monotonic() + _LIMIT_S
    # Processes that were started meanwhile have the mark too.
    while remaining := _keep_running(remaining) | find_marked(mark):
        _send(remaining, signal.SIGKILL)
        if time.monotonic() > give_up:
            _trace.warning("marked processes did not end", processes=len(remaining))
            break
        time.sleep(_PAUSE_S)


def _keep_running(processes: set[ProcessIdentity]) -> set[ProcessIdentity]:
    return {process for process in processes if process.is_running}


def _ancestors(stats: dict[int, ProcessStat]) -> set[int]:
    """Return our own pid and those of our ancestors."""
    found: set[int] = set()
    pid = os.getpid()
    while pid in stats and pid not in found:
        found.add(pid)
        pid = stats[pid].parent
    return found


def _running_processes() -> Iterator[ProcessStat]:
    with suppress(OSError):
        for pid in PROC.all_pids():
            stat = find_stat(PROC, pid)
            if stat is not None and not stat.is_gone:
                yield stat


def _send(processes: set[ProcessIdentity], number: signal.Signals) -> None:
    for process in _keep_running(processes):
        with suppress(OSError):
            os.kill(process.pid, number)


def _has_mark(pid: int, mark: str) -> bool:
    try:
        variables = PROC.environment(pid)
    except OSError:
        return False
    return f"\0{MARK_VARIABLE}={mark}".encode() in b"\0" + variables
