"""Which process is which: by its pid, its start time and the namespace that numbers it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from muxpilot.processes.proc import PROC, find_stat, has_proc
from muxpilot.records import record


@record
class ProcessIdentity:
    """One process, also after its end: another may get its pid, but not with the same start time."""

    pid: int
    start_time: int

    @property
    def is_running(self) -> bool:
        """Return whether this very process still runs."""
        if not has_proc():
            return process_exists(self.pid)
        stat = find_stat(PROC, self.pid)
        return stat is not None and not stat.is_gone and stat.start_time == self.start_time


def this_process() -> ProcessIdentity:
    """Return the identity of the process that calls this."""
    stat = find_stat(PROC, os.getpid())
    return ProcessIdentity(os.getpid(), stat.start_time if stat is not None else 0)


def pid_namespace() -> str:
    """Return a name for the namespace of our pids.

    The boot id is part of it: the link of the first namespace is the same on every machine.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname().replace(" ", "_")[:60] or "here"


def process_exists(pid: int) -> bool:
    """Return whether there is such a process, of any user; a zombie counts."""
    if pid <= 0:  # for the system it would mean our process group
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's
    return True


def has_ended(pid: int) -> bool:
    """Return whether a process is gone, or a zombie where /proc shows that."""
    if not process_exists(pid):
        return True
    stat = find_stat(PROC, pid)
    return stat is not None and stat.is_gone


def shares_our_files(pid: int | None) -> bool:
    """Return whether a process sees our file system as we do, and runs as our user or as root."""
    if pid is None:
        return False
    try:
        same_root = Path(f"/proc/{pid}/root").samefile("/proc/self/root")
        same_mounts = Path(f"/proc/{pid}/ns/mnt").readlink() == Path("/proc/self/ns/mnt").readlink()
        return same_root and same_mounts and Path(f"/proc/{pid}").stat().st_uid in (0, os.getuid())
    except OSError:
        return False


def find_user(pid: int) -> int | None:
    """Return the number of the user who runs a process, or None where the system does not tell."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None
