"""Locks between processes, by `flock`. The kernel releases them when the process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

_PID_BYTES = 20


def try_lock(file: int, *, is_shared: bool = False) -> bool:
    """Lock an open file without waiting. Return False while another process holds it."""
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(file: int) -> None:
    """Unlock an open file, for the next process."""
    fcntl.flock(file, fcntl.LOCK_UN)


def open_lock_file(path: str | Path) -> int:
    """Open a lock file for its owner only, and create it where it is missing. Links are not followed."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def acquire(path: str | Path, *, is_shared: bool = False) -> int | None:
    """Return the lock file, open and locked, or None while another process holds it.

    The last holder removes the file. A lock on a file that was removed after we opened it does not count.
    """
    file = open_lock_file(path)
    is_locked = False
    try:
        with suppress(FileNotFoundError):
            is_locked = try_lock(file, is_shared=is_shared) and is_still_at(path, file)
    finally:
        if not is_locked:
            os.close(file)
    return file if is_locked else None


def release(path: str | Path, file: int) -> None:
    """Unlock and close a lock file. Remove it if no other process shares the lock."""
    with suppress(OSError):
        if try_lock(file) and is_still_at(path, file):
            os.unlink(path)
    os.close(file)


def remove_if_unused(path: Path, unused_s: float) -> None:
    """Remove a lock file that no process holds and that nothing was written to for so long.

    A process that opens it at the same moment must check `is_still_at` when it has the lock.
    """
    with suppress(OSError):
        if time.time() - path.lstat().st_mtime <= unused_s:
            return
        file = acquire(path)
        if file is not None:
            release(path, file)


def write_owner(file: int, *, offset: int = 0) -> None:
    """Write our process id into a lock file that we hold, for the log of a process that waits for it."""
    with suppress(OSError):
        os.pwrite(file, b"%-*d" % (_PID_BYTES, os.getpid()), offset)


def read_owner(file: int, *, offset: int = 0) -> int | None:
    """Return the process id that the last owner of a lock file wrote, or None if it wrote none."""
    found = os.pread(file, _PID_BYTES, offset).strip()
    return int(found) if found.isdigit() else None


def is_still_at(path: str | Path, file: int) -> bool:
    """Return whether an open lock file was not removed, or replaced by another, meanwhile."""
    return os.path.samestat(os.fstat(file), os.stat(path))
