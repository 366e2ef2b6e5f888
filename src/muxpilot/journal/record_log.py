"""An append-only file of records that several processes write and read at the same time.

A record is one line: a checksum, a blank, and a JSON object. One `write` with O_APPEND adds it, so records of
different processes never mix, and no lock is needed: a stopped process blocks no other. A line that is torn
(full disk, killed writer) or damaged fails its checksum and is skipped.

A file that has grown beyond a limit is put aside as `NAME.old` and a new one begins. A reader reads the old
file to its end first. A writer that finds its file put aside after the write adds the record to the new file
as well, so readers must accept a record twice. All readers see the same order.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from muxpilot import file_lock
from muxpilot.records import record
from muxpilot.trace import Trace, area

_MOST_BYTES = 4 << 20
_READ_BYTES = 1 << 20
_HEADER = b"muxpilot records 1\n"

# No record contains itself. To look for that takes a third of the time.
_JSON = json.JSONEncoder(separators=(",", ":"), check_circular=False)

Fields = Mapping[str, Any]


@record
class OpenFile:
    """An open file, and which one it is."""

    number: int
    identity: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, number: int) -> OpenFile:
        """Return an open file with its identity."""
        found = os.fstat(number)
        return cls(number, (found.st_dev, found.st_ino))

    @property
    def is_open(self) -> bool:
        return self.number >= 0

    def is_at(self, path: str) -> bool:
        """Return whether the file is still the one with this name."""
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return False
        return self.identity == (found.st_dev, found.st_ino)

    def close(self) -> OpenFile:
        """Close the file. Return what stands for none."""
        if self.is_open:
            os.close(self.number)
        return _NO_FILE


_NO_FILE = OpenFile(-1)


class RecordLog:
    """One log. `append` adds a record; `read_new` returns those that were added since the last call."""

    def __init__(self, path: Path, *, most_bytes: int | None = None, trace: Trace | None = None) -> None:
        self._path = path
        self._name = str(path)
        self._most_bytes = _MOST_BYTES if most_bytes is None else most_bytes
        self._trace = trace or area("journal")
        self._file = _NO_FILE  # open for reading
        self._append_file = _NO_FILE
        self.read_failure: str | None = None  # why a file that is there could not be read
        self.size = 0  # of the newest file, when it was last looked at
        self._offset = 0
        self._torn = b""
        self._has_read_old = False

    @property
    def is_large(self) -> bool:
        """Return whether the newest file, as it was last written to, should be put aside."""
        return self.size > self._most_bytes

    def append(self, fields: Fields) -> bool:
        """Add a record. Raise OSError if it cannot be written whole.

        Return True if it was the next that `read_new` would return: it is left out there.
        """
        line = _encode(fields)
        while True:
            if not self._append_file.is_open:
                self._append_file = OpenFile.of(self._open_for_append())
            file = self._append_file
            if os.write(file.number, line) != len(line):
                os.write(file.number, b"\n")  # raises the reason: a full disk, or a quota
                raise OSError("The record was not written whole.")
            if self._is_newest(file):
                self._trace.debug("record written", kind=fields.get("t"), bytes=len(line))
                return self._skip_own(len(line))
            self._trace.debug("record written again: its file was put aside", kind=fields.get("t"))
            self._append_file = file.close()

    def _is_newest(self, file: OpenFile) -> bool:
        """Return whether the file still has the log's name, and note its size.

        Only a file that has grown beyond the limit is put aside. So the name is not looked up before.
        """
        found = os.fstat(file.number)
        self.size = found.st_size
        return found.st_nlink > 0 and (found.st_size <= self._most_bytes or file.is_at(self._name))

    def _skip_own(self, length: int) -> bool:
        """Skip what this process has just written, if nothing else is left to read before it."""
        is_same_file = self._file.identity == self._append_file.identity
        if not is_same_file or self._torn or self._offset != self.size - length:
            return False
        self._offset = self.size
        return True

    def read_new(self) -> list[Fields]:
        """Return the records that were added since the last call, in the order of writing."""
        found: list[Fields] = []
        if self._has_read_all():
            return found
        if not self._has_read_old:
            self._has_read_old = True
            self._read_old_file(found)
        for _ in range(3):  # a file that was put aside, the one after it, and one more
            if not self._file.is_open and not self._open_for_reading(self._path):
                return found
            self._read_to_end(found)
            if self._file.is_at(self._name):
                return found
            self._read_to_end(found)  # what was added before it was put aside
            self._close_read_file()
        return found

    def _has_read_all(self) -> bool:
        """Return whether nothing was added: the newest file is the one we read, and is not longer."""
        if not self._has_read_old or not self._file.is_open:
            return False
        return self._is_newest(self._file) and self.size == self._offset

    def put_aside(self) -> bool:
        """Begin a new file. Return False if another process is about to do the same."""
        guard = file_lock.open_lock_file(self._path.with_suffix(".rotate"))
        try:
            if not file_lock.try_lock(guard) or _size_of(self._path) <= self._most_bytes:
                return False  # another process does it, or has done it
            os.replace(self._path, self._old_path)
            self._trace.debug("record file put aside", path=self._path)
            return True
        finally:
            os.close(guard)

    def mentions(self, word: bytes) -> bool:
        """Return whether the files have a word anywhere, without reading their records.

        Return True for a file that cannot be read: reading its records tells why.
        """
        return any(self._may_mention(word, path) for path in (self._path, self._old_path))

    def _may_mention(self, word: bytes, path: Path) -> bool:
        try:
            return word in _read_whole(path)
        except FileNotFoundError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        """Close the files. A later call opens the newest one."""
        self._append_file = self._append_file.close()
        self._close_read_file()

    def _close_read_file(self) -> None:
        self._file = self._file.close()
        self._torn = b""

    @property
    def _old_path(self) -> Path:
        return self._path.with_name(self._path.name + ".old")

    def _open_for_append(self) -> int:
        with suppress(FileNotFoundError):
            return _open_own(self._path, os.O_RDWR | os.O_APPEND)
        self._create()
        return _open_own(self._path, os.O_RDWR | os.O_APPEND)

    def _create(self) -> None:
        """Create a file with its header. It gets its name when the header is in it."""
        unnamed = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        file = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, _HEADER)
            with suppress(FileExistsError):  # another process was faster
                os.link(unnamed, self._path)
        finally:
            os.close(file)
            os.unlink(unnamed)

    def _open_for_reading(self, path: Path) -> bool:
        try:
            file = _open_own(path, os.O_RDONLY)
        except FileNotFoundError:
            return False
        except OSError as error:
            self._trace.warning("records cannot be read", path=path, error=error)
            self.read_failure = error.strerror or "it cannot be opened"
            return False
        self._file = OpenFile.of(file)
        self._offset, self._torn = 0, b""
        return True

    def _read_old_file(self, found: list[Fields]) -> None:
        if self._open_for_reading(self._old_path):
            self._read_to_end(found)
            self._close_read_file()

    def _read_to_end(self, found: list[Fields]) -> None:
        if os.fstat(self._file.number).st_size < self._offset:
            self._trace.warning(
                "records were cut by another program; read from the beginning", path=self._path
            )
            self._offset, self._torn = 0, b""
        while data := os.pread(self._file.number, _READ_BYTES, self._offset):
            self._offset += len(data)
            *lines, self._torn = (self._torn + data).split(b"\n")
            for line in lines:
                self._take_line(line, found)

    def _take_line(self, line: bytes, found: list[Fields]) -> None:
        if not line or line == _HEADER.rstrip():
            return
        fields = _decode(line)
        if fields is None:
            self._trace.warning("damaged record skipped", path=self._path, length=len(line))
            return
        found.append(fields)


def _open_own(path: Path, flags: int) -> int:
    """Open a file of this user. Links and everything else are refused: a pipe would let us wait for ever."""
    file = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(file)
        raise PermissionError(errno.EPERM, "it is not a file of this user", str(path))
    return file


def _read_whole(path: Path) -> bytes:
    with os.fdopen(_open_own(path, os.O_RDONLY), "rb") as source:
        return source.read()


def _encode(fields: Fields) -> bytes:
    """Return the line of a record. It begins with a newline too, which ends a torn line before it."""
    text = _JSON.encode(fields).encode()
    return b"\n%08x %s\n" % (zlib.crc32(text), text)


def _decode(line: bytes) -> Fields | None:
    checksum, _, text = line.partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(text):
            return None
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _size_of(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0
