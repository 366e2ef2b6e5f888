"""A private folder for FIFOs and passing files, 0700, gone when we are.

A folder whose owner was killed is removed by the next muxpilot: its lock is free then.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from pathlib import Path

_PREFIX = "muxpilot-"


class Scratch:
    def __init__(self) -> None:
        base = Path(tempfile.gettempdir())
        _sweep(base)
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getuid()}-", dir=base))
        # Also when we end without the time to close everything in order.
        self.close = weakref.finalize(self, _remove, self.path, _locked(self.path))
        self._count = 0

    def fifo(self, purpose: str) -> Path:
        """A FIFO in a folder of its own: once that is gone, nobody who comes late makes a file instead."""
        folder = self.file(purpose)
        folder.mkdir(0o700)
        os.mkfifo(folder / "fifo", 0o600)
        return folder / "fifo"

    def file(self, purpose: str) -> Path:
        """A name that was not used before; nothing is made."""
        self._count += 1
        return self.path / f"{purpose}{self._count}"


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def remove_fifo(fifo: Path) -> None:
    shutil.rmtree(fifo.parent, ignore_errors=True)


def _locked(folder: Path) -> int:
    """Locked before it has its name, so that nobody ever finds the lock of a living owner free."""
    unnamed = folder / "lock.new"
    lock = os.open(unnamed, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    unnamed.rename(folder / "lock")
    return lock


def _sweep(base: Path) -> None:
    for folder in base.glob(f"{_PREFIX}{os.getuid()}-*"):
        if _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    try:
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return False
        lock = os.open(folder / "lock", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False  # not ours, or its owner has not locked it yet
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
