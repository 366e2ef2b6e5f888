"""Read the lines of a log while it is written, and while it is rotated to `PATH.1`, `PATH.2` and so on."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

_FIRST_LOOK = 256 << 10
_READ = 1 << 20
_LONGEST_LINE = 1 << 20
_MOST_FILES = 100

_Identity = tuple[int, int]


class LogTail:
    """Reads new lines of a log. File and offset are kept while it cannot be read: no line comes twice."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1  # kept open: then the kernel gives its inode number to no other file
        self._known: _Identity | None = None
        self._at = 0
        self._rest = b""

    def read_lines(self) -> Iterator[bytes | None]:
        """Yield the lines since the last time; None where some may be missing."""
        if self._file >= 0:
            yield from self._read_to_end()
            if self._is_current():
                return
            yield from self._read_to_end()  # what was written before it was rotated
        if self._known is None:
            self._begin()
            yield from self._read_to_end()
            return
        yield from self._read_since_known()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def _begin(self) -> None:
        self._switch_to(_open_regular_file(self._path))
        size = os.fstat(self._file).st_size
        if size > _FIRST_LOOK:
            self._at = os.lseek(self._file, size - _FIRST_LOOK, os.SEEK_SET)
            self._rest = b"?"  # we are inside a line: the rest of it must not count as one

    def _read_since_known(self) -> Iterator[bytes | None]:
        """Yield the rest of the file that we know, then all newer files, the oldest first."""
        files, is_found = self._open_since_known()
        try:
            if not is_found or not self._resume(files.pop()):
                yield None
            if is_found:
                yield from self._read_to_end()
            while files:
                self._switch_to(files.pop())
                yield from self._read_to_end()
        finally:
            for file in files:
                os.close(file)

    def _open_since_known(self) -> tuple[list[int], bool]:
        """Open the newest file and the older ones back to the one we know; only the newest if that is gone.

        They may be rotated again meanwhile: then one number is missing for a moment, and a file may be found
        twice, but none is skipped.
        """
        found = {_identity(newest := _open_regular_file(self._path)): newest}
        holes = 0
        for number in range(1, _MOST_FILES):
            if self._known in found or holes > 1:
                break
            try:
                file = _open_regular_file(f"{self._path}.{number}")
            except OSError:
                holes += 1
                continue
            if found.setdefault(_identity(file), file) != file:
                os.close(file)
        files = list(found.values())
        if self._known in found:
            return files, True
        for file in files[1:]:
            os.close(file)
        return files[:1], False

    def _resume(self, file: int) -> bool:
        """Continue in the file that we know. Return False if it is shorter than before."""
        at, rest = self._at, self._rest
        self._switch_to(file)
        if os.fstat(file).st_size < at:
            return False
        self._at, self._rest = os.lseek(file, at, os.SEEK_SET), rest
        return True

    def _switch_to(self, file: int) -> None:
        self.close()
        self._file, self._known, self._at, self._rest = file, _identity(file), 0, b""

    def _is_current(self) -> bool:
        """Return True if the path still names this file and the file was not truncated."""
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return True  # it is just being rotated: the next one is not there yet
        return _identity(self._file) == (there.st_dev, there.st_ino) and there.st_size >= self._at

    def _read_to_end(self) -> Iterator[bytes]:
        while data := self._read():
            self._at += len(data)
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._rest = self._rest[:_LONGEST_LINE]
            yield from lines

    def _read(self) -> bytes:
        try:
            return os.read(self._file, _READ)
        except OSError:
            self.close()
            raise


def _open_regular_file(path: str) -> int:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(0, "it is not a regular file")
    return file


def _identity(file: int) -> _Identity:
    found = os.fstat(file)
    return found.st_dev, found.st_ino
