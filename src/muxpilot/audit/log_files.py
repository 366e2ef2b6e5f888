"""Files that only their owner can read: a log that rotates when it is full, and a folder of captures."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from muxpilot.errors import BadInput

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NUMBERED = re.compile(r"(.+)-capture-(\d{3,})\.txt")


class RotatingLog:
    """A log file. Other processes may append to the same file, or rotate it."""

    def __init__(self, path: str, *, max_bytes: int, keep: int) -> None:
        self._path = os.path.abspath(os.path.expanduser(path))
        self._max_bytes = max_bytes
        self._keep = keep
        self._file = self._open()
        self._has_partial_line = False

    def write(self, line: bytes) -> None:
        """Append a line. Rotate first if the file would become too large."""
        found = os.fstat(self._file)
        if not self._is_current(found):
            self._reopen()
            found = os.fstat(self._file)
        if found.st_size and found.st_size + len(line) > self._max_bytes:
            self._rotate()
        self._append(line)

    def close(self) -> None:
        os.close(self._file)

    def _append(self, line: bytes) -> None:
        """Append a line. Remove one that a full disk has cut; if that fails, begin the next on a new line."""
        rest = whole = b"\n" + line if self._has_partial_line else line
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            self._has_partial_line = False
        except OSError:
            self._has_partial_line |= not self._undo_partial_write(len(whole) - len(rest))
            raise

    def _undo_partial_write(self, size: int) -> bool:
        """Cut the bytes that we wrote last, unless another process has written after us. Return success."""
        end = os.lseek(self._file, 0, os.SEEK_CUR)
        if size and os.fstat(self._file).st_size == end:
            os.ftruncate(self._file, end - size)
            return True
        return not size

    def _open(self) -> int:
        file = os.open(self._path, _FLAGS | os.O_APPEND, 0o600)
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            os.close(file)
            raise OSError(0, "not a regular file that you own", self._path)
        os.fchmod(file, 0o600)
        return file

    def _is_current(self, found: os.stat_result) -> bool:
        try:
            return os.path.samestat(found, os.lstat(self._path))
        except OSError:
            return False

    def _reopen(self) -> None:
        fresh = self._open()
        os.close(self._file)
        self._file = fresh
        self._has_partial_line = False

    def _rotate(self) -> None:
        for number in range(self._keep, 0, -1):
            older = self._path if number == 1 else f"{self._path}.{number - 1}"
            with suppress(FileNotFoundError):
                os.replace(older, f"{self._path}.{number}")
        if not self._keep:
            os.unlink(self._path)
        self._reopen()


class CaptureFolder:
    """The files `<pane>-capture-NNN.txt`. Numbers continue from those that exist."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder).expanduser().absolute()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(self._folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied", str(self._folder))
        self._last = self._find_last_numbers()

    def save(self, pane: str, text: str) -> str:
        """Write a text to a new file and return the file's name."""
        label = re.sub(r"[^\w%@$.-]", "_", pane)[:80] or "pane"
        while True:
            self._last[label] = number = self._last.get(label, 0) + 1
            name = f"{label}-capture-{number:03}.txt"
            try:
                file = os.open(self._folder / name, _FLAGS | os.O_EXCL, 0o600)
            except FileExistsError:
                continue
            with os.fdopen(file, "w", encoding="utf-8", errors="replace") as opened:
                opened.write(text)
            return name

    def _find_last_numbers(self) -> dict[str, int]:
        last: dict[str, int] = {}
        for path in self._folder.iterdir():
            if found := _NUMBERED.fullmatch(path.name):
                last[found[1]] = max(last.get(found[1], 0), int(found[2]))
        return last


def open_files(
    path: str | None, folder: str | None, *, max_bytes: int, keep: int
) -> tuple[RotatingLog | None, CaptureFolder | None]:
    """Open both. Raise BadInput that names the one that cannot be written."""
    what = f"The audit log {path}"
    try:
        log = RotatingLog(path, max_bytes=max_bytes, keep=keep) if path else None
        what = f"The folder of captures {folder}"
        return log, CaptureFolder(folder) if folder else None
    except OSError as error:
        raise BadInput(
            f"{what} cannot be written: {error.strerror}.", "Give a path that you can write."
        ) from None
