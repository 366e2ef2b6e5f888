"""A private temporary folder for FIFOs and short-lived files, mode 0700, removed when this process ends.

The owner holds a lock in its folder. A folder whose owner was killed has a free lock; the next muxpilot
removes it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path

from muxpilot import file_lock
from muxpilot.trace import area

_PREFIX = "muxpilot-"
_trace = area("tmux")


class TemporaryFolder:
    """The temporary folder of one connection. It is removed by `close`, or when the interpreter exits."""

    def __init__(self) -> None:
        base = Path(tempfile.gettempdir())
        _remove_abandoned_folders(base)
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getuid()}-", dir=base))
        # A finalizer, because the process may end without the time to close everything in order.
        self.close = weakref.finalize(self, _remove_folder, self.path, _create_lock(self.path))
        self._count = 0
        _trace.debug("temporary folder created", path=self.path)

    def create_fifo(self, purpose: str) -> Path:
        """Create a FIFO in a folder of its own, and return its path.

        Once that folder is removed, a program that opens the FIFO too late cannot create a file instead.
        """
        folder = self.unused_path(purpose)
        folder.mkdir(0o700)
        os.mkfifo(folder / "fifo", 0o600)
        return folder / "fifo"

    @staticmethod
    def write_private(path: Path, text: str) -> Path:
        """Create a file that only this user can read, and return its path. Raise if the path exists."""
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as target:
            target.write(text)
        return path

    def unused_path(self, purpose: str) -> Path:
        """Return a path that was not used before. Nothing is created."""
        self._count += 1
        return self.path / f"{purpose}{self._count}"


def remove_fifo(fifo: Path) -> None:
    shutil.rmtree(fifo.parent, ignore_errors=True)


def _remove_folder(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def _create_lock(folder: Path) -> int:
    """Lock a file before it gets its name, so that the lock of a living owner is never found free."""
    unnamed = folder / "lock.new"
    lock = file_lock.open_lock_file(unnamed)
    file_lock.try_lock(lock)
    unnamed.rename(folder / "lock")
    return lock


def _remove_abandoned_folders(base: Path) -> None:
    for folder in base.glob(f"{_PREFIX}{os.getuid()}-*"):
        if _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)
            _trace.info("abandoned temporary folder removed", path=folder)


def _is_abandoned(folder: Path) -> bool:
    try:
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return False
        lock = os.open(folder / "lock", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False  # the folder is not ours, or its owner has not locked it yet
    try:
        return file_lock.try_lock(lock)
    except OSError:
        return False
    finally:
        os.close(lock)
