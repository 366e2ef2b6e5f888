"""Jobs of a shell that were stopped with C-z and are still alive."""

from __future__ import annotations

import signal
import time

from muxpilot.processes.identity import ProcessIdentity
from muxpilot.processes.proc import PROC, ProcReader, find_stat

# A shell reports a stopped job as 128 plus the signal, or as success.
_SIGNALS = (signal.SIGTSTP, signal.SIGSTOP, signal.SIGTTIN)
STOPPED_STATUSES = frozenset((0, *(128 + number for number in _SIGNALS)))
_TICKS_PER_S = 100  # of the times in /proc, on every architecture of Linux


def list_stopped_children(
    pid: int, *, began_at: float = 0.0, proc: ProcReader = PROC
) -> list[ProcessIdentity] | None:
    """Return the children of a process that are stopped and began after a moment of the monotonic clock.

    The times in /proc are those of ticks, so a child that began one tick before counts too. Return None if
    the process cannot be asked: it is on another host, or has ended.
    """
    shell = find_stat(proc, pid)
    if shell is None:
        return None
    try:
        children = [find_stat(proc, child) for child in proc.children(pid)]
    except OSError:
        return None
    # The monotonic clock stands still while the machine sleeps; the times in /proc do not.
    asleep_s = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
    first_tick = (began_at + asleep_s) * _TICKS_PER_S - 1 if began_at else 0
    return [
        ProcessIdentity(stat.pid, stat.start_time)
        for stat in children
        if stat is not None and stat.is_stopped and stat.tty == shell.tty and stat.start_time >= first_tick
    ]
