"""The lines of a log as they are written, also where it is put aside: as `PATH.1`, the older as `PATH.2` …"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

_FIRST_LOOK = 256 << 10
_READ = 1 << 20
_LONGEST_LINE = 1 << 20
_MOST_FILES = 100

_Identity = tuple[int, int]


class Tail:
    """The file and the place in it are kept while it cannot be read: no line comes twice."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1  # open as long as it can be: nobody else gets its number then
        self._known: _Identity | None = None
        self._at = 0
        self._rest = b""

    def new(self) -> Iterator[bytes | None]:
        """The lines since the last time; None where some may be missing."""
        if self._file >= 0:
            yield from self._lines()
            if self._is_current():
                return
            yield from self._lines()  # what was written between the two looks
        if self._known is None:
            self._begin()
            yield from self._lines()
            return
        yield from self._go_on()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def _begin(self) -> None:
        self._take_up(_opened(self._path))
        size = os.fstat(self._file).st_size
        if size > _FIRST_LOOK:
            self._at = os.lseek(self._file, size - _FIRST_LOOK, os.SEEK_SET)
            self._rest = b"?"  # we are inside a line: what is left of it is none

    def _go_on(self) -> Iterator[bytes | None]:
        """Through all that came after the file we know, the oldest first."""
        files, is_found = self._since_known()
        try:
            if not is_found or not self._resume(files.pop()):
                yield None
            if is_found:
                yield from self._lines()
            while files:
                self._take_up(files.pop())
                yield from self._lines()
        finally:
            for file in files:
                os.close(file)

    def _since_known(self) -> tuple[list[int], bool]:
        """The newest file first, and back to the one we know; only the newest, if that is gone.

        They may be put aside once more meanwhile: one number is then missing for a moment, and a file may be
        met twice, but none is passed by.
        """
        found = {_identity(newest := _opened(self._path)): newest}
        holes = 0
        for number in range(1, _MOST_FILES):
            if self._known in found or holes > 1:
                break
            try:
                file = _opened(f"{self._path}.{number}")
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
        """The file we know; whether it is still as long as we know it."""
        at, rest = self._at, self._rest
        self._take_up(file)
        if os.fstat(file).st_size < at:
            return False
        self._at, self._rest = os.lseek(file, at, os.SEEK_SET), rest
        return True

    def _take_up(self, file: int) -> None:
        self.close()
        self._file, self._known, self._at, self._rest = file, _identity(file), 0, b""

    def _is_current(self) -> bool:
        """Whether the name still means this file, and nobody has cut it."""
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return True  # just being put aside: the next one is not there yet
        return _identity(self._file) == (there.st_dev, there.st_ino) and there.st_size >= self._at

    def _lines(self) -> Iterator[bytes]:
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


def _opened(path: str) -> int:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(0, "it is no file")
    return file


def _identity(file: int) -> _Identity:
    found = os.fstat(file)
    return found.st_dev, found.st_ino
