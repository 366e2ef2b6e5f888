"""An append-only file of records that several processes write and read at the same time.

A record is one line: a checksum, a blank, and a JSON object. One `write` with O_APPEND adds it, so records of
different processes never mix, and no lock is needed: a stopped process blocks no other. A line that is torn
(full disk, killed writer) or damaged fails its checksum and is skipped.

A file that has grown beyond a limit is put aside as `NAME.old` and a new one begins. A reader reads the old
file to its end first. A writer that finds its file put aside after the write adds the record to the new file
as well, so readers must accept a record twice.

The position of a record grows with the order of writing, also across files. All readers see the same order.
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
# The position of a record is the number of its file, times this, plus the offset in the file.
_FILE_SPAN = 1 << 40
_HEADER = b"muxpilot records 1 "
_LONGEST_HEADER = 64


@record
class LogRecord:
    """One record, and its position in the order of writing."""

    position: int
    fields: Mapping[str, Any]


class RecordLog:
    """One log. `append` adds a record; `read_new` returns those that were added since the last call."""

    def __init__(self, path: Path, *, most_bytes: int = _MOST_BYTES, trace: Trace | None = None) -> None:
        self._path = path
        self._most_bytes = most_bytes
        self._trace = trace or area("journal")
        self._file = -1  # open for reading
        self._append_file = -1
        self._number = 0  # of the file that is open for reading
        self._offset = 0
        self._torn = b""
        self._has_read_old = False

    @property
    def size(self) -> int:
        """Return the size of the newest file, or 0 if there is none."""
        with suppress(OSError):
            return self._path.stat().st_size
        return 0

    @property
    def is_large(self) -> bool:
        return self.size > self._most_bytes

    def append(self, fields: Mapping[str, Any]) -> int:
        """Add a record and return its position. Raise OSError if it cannot be written whole."""
        line = _encode(fields)
        while True:
            file = self._find_append_file()
            written = os.write(file, line)
            end = os.lseek(file, 0, os.SEEK_CUR)
            if written != len(line):
                raise OSError("The record was not written whole.")
            if _is_at(self._path, file):
                position = _read_number(file) * _FILE_SPAN + end
                self._trace.debug("record written", kind=fields.get("t"), position=position)
                return position
            self._trace.debug("record written again: its file was put aside", kind=fields.get("t"))

    def read_new(self) -> list[LogRecord]:
        """Return the records that were added since the last call, in the order of writing."""
        found: list[LogRecord] = []
        if not self._has_read_old:
            self._has_read_old = True
            self._read_old_file(found)
        for _ in range(3):  # a file that was put aside, the one after it, and one more
            if self._file < 0 and not self._open_for_reading(self._path):
                return found
            self._read_to_end(found)
            if _is_at(self._path, self._file):
                return found
            self._read_to_end(found)  # what was added before it was put aside
            self._close_read_file()
        return found

    def put_aside(self) -> bool:
        """Begin a new file. Return False if another process is about to do the same."""
        guard = file_lock.open_lock_file(self._path.with_suffix(".rotate"))
        try:
            if not self.is_large or not file_lock.try_lock(guard):
                return False
            os.replace(self._path, self._old_path)
            self._trace.debug("record file put aside", path=self._path)
            return True
        finally:
            os.close(guard)

    def mentions(self, word: bytes) -> bool:
        """Return whether the files have a word anywhere, without reading their records."""
        return any(word in _read_whole(path) for path in (self._path, self._old_path))

    def close(self) -> None:
        """Close the files. A later call opens the newest one."""
        self._close_append_file()
        self._close_read_file()

    def _find_append_file(self) -> int:
        if self._append_file >= 0 and not _is_at(self._path, self._append_file):
            self._close_append_file()
        if self._append_file < 0:
            self._append_file = self._open_for_append()
        return self._append_file

    def _close_append_file(self) -> None:
        if self._append_file >= 0:
            os.close(self._append_file)
            self._append_file = -1

    def _close_read_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
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
        number = _number_of(self._old_path) + 1
        unnamed = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        file = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, _HEADER + b"%d\n" % number)
            with suppress(FileExistsError):  # another process was faster
                os.link(unnamed, self._path)
        finally:
            os.close(file)
            os.unlink(unnamed)

    def _open_for_reading(self, path: Path) -> bool:
        try:
            self._file = _open_own(path, os.O_RDONLY)
        except FileNotFoundError:
            return False
        except OSError as error:
            self._trace.warning("records cannot be read", path=path, error=error)
            return False
        self._number, self._offset, self._torn = _read_number(self._file), 0, b""
        return True

    def _read_old_file(self, found: list[LogRecord]) -> None:
        if self._open_for_reading(self._old_path):
            self._read_to_end(found)
            self._close_read_file()

    def _read_to_end(self, found: list[LogRecord]) -> None:
        if os.fstat(self._file).st_size < self._offset:
            self._trace.warning(
                "records were cut by another program; read from the beginning", path=self._path
            )
            self._offset, self._torn = 0, b""
        while data := os.pread(self._file, _READ_BYTES, self._offset):
            self._offset += len(data)
            *lines, self._torn = (self._torn + data).split(b"\n")
            end = self._offset - len(self._torn)
            positions = _line_ends(lines, end)
            for line, position in zip(lines, positions, strict=True):
                self._take_line(line, position, found)

    def _take_line(self, line: bytes, position: int, found: list[LogRecord]) -> None:
        if not line or line.startswith(_HEADER):
            return
        fields = _decode(line)
        if fields is None:
            self._trace.warning("damaged record skipped", path=self._path, at=position, length=len(line))
            return
        found.append(LogRecord(self._number * _FILE_SPAN + position, fields))


def _open_own(path: Path, flags: int) -> int:
    """Open a file of this user. Links and everything else are refused: a pipe would let us wait for ever."""
    file = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(file)
        raise PermissionError(errno.EPERM, "it is not a file of this user", str(path))
    return file


def _read_whole(path: Path) -> bytes:
    try:
        file = _open_own(path, os.O_RDONLY)
    except OSError:
        return b""
    with os.fdopen(file, "rb") as source:
        return source.read()


def _encode(fields: Mapping[str, Any]) -> bytes:
    """Return the line of a record. It begins with a newline too, which ends a torn line before it."""
    text = json.dumps(fields, separators=(",", ":")).encode()
    return b"\n%08x %s\n" % (zlib.crc32(text), text)


def _decode(line: bytes) -> Mapping[str, Any] | None:
    checksum, _, text = line.partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(text):
            return None
        fields = json.loads(text)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) else None


def _line_ends(lines: list[bytes], end: int) -> list[int]:
    """Return the offset after each line and its newline, if the last of them ends at `end`."""
    ends = []
    for line in reversed(lines):
        ends.append(end)
        end -= len(line) + 1
    return ends[::-1]


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _read_number(file: int) -> int:
    """Return the number of a file, from its header. A damaged header counts as the first file."""
    header = os.pread(file, _LONGEST_HEADER, 0).partition(b"\n")[0]
    number = header.removeprefix(_HEADER)
    return int(number) if header.startswith(_HEADER) and number.isdigit() else 0


def _number_of(path: Path) -> int:
    try:
        file = _open_own(path, os.O_RDONLY)
    except OSError:
        return 0
    try:
        return _read_number(file)
    finally:
        os.close(file)
