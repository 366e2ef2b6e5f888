"""Write and read asciicast v2 files: a JSON line with the size of the screen, then one for each event."""

from __future__ import annotations

import codecs
import errno
import json
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from muxpilot import file_lock
from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.terminal.escapes import CLEAR_SCREEN, HIDE_CURSOR, RESET_STYLE, move_cursor

_CHUNK_BYTES = 1 << 16
_LONGEST_PAUSE_S = 86_400.0
_SIZE = re.compile(r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3})", re.ASCII)

# Creates a file of this name and returns its open descriptor, or raises why it must not or cannot.
CreateFile = Callable[[str], int]


@record
class CastPlace:
    """Where a recording stands in its file, so that another process can go on there.

    `began_ns` is its beginning by the clock since boot, and `device` and `inode` identify the file.
    """

    began_ns: int
    bytes: int
    device: int
    inode: int


class CastFile:
    """A recording that is being written. Each event is flushed, so that readers see whole lines.

    The file is locked as long as it is open: no two processes write to it.
    """

    def __init__(self, path: Path, file: int, began_ns: int, *, size: int) -> None:
        """Write to an open file from its place `size` on."""
        with suppress(OSError):  # some file systems have no locks
            file_lock.try_lock(file)
        self._file = os.fdopen(file, "w", encoding="utf-8", newline="\n")
        self.path = path
        self.bytes = size
        self._began_ns = began_ns
        found = os.fstat(file)
        self._identity = found.st_dev, found.st_ino
        self._ended_ns: int | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @classmethod
    def create(cls, path: Path, columns: int, rows: int, create: CreateFile) -> CastFile:
        """Create a file, with its first line."""
        made = cls(path, create(str(path)), time.monotonic_ns(), size=0)
        head = {"version": 2, "width": columns, "height": rows, "timestamp": int(time.time())}
        try:
            made._write_line({**head, "env": {"TERM": "tmux-256color"}})
        except OSError:
            made.close()
            raise
        return made

    @classmethod
    def reopen(cls, path: Path, place: CastPlace) -> CastFile | None:
        """Continue in a file where another process stopped. What it wrote after that place is cut off.

        Return None while another process writes to the file. Raise OSError if it is not the same file.
        """
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            found = os.fstat(file)
            if (found.st_dev, found.st_ino) != (place.device, place.inode):
                raise FileNotFoundError(errno.ENOENT, "it is not there any more", str(path))
            if not file_lock.try_lock(file):
                os.close(file)
                return None
            size = _whole_lines(file, min(place.bytes, found.st_size))
            os.ftruncate(file, size)
            os.lseek(file, size, os.SEEK_SET)
        except OSError:
            os.close(file)
            raise
        return cls(path, file, place.began_ns, size=size)

    @property
    def place(self) -> CastPlace:
        return CastPlace(self._began_ns, self.bytes, *self._identity)

    @property
    def held_bytes(self) -> int:
        """Return how many bytes of an incomplete character wait for their rest."""
        return len(self._decoder.getstate()[0])

    @property
    def seconds(self) -> float:
        return ((time.monotonic_ns() if self._ended_ns is None else self._ended_ns) - self._began_ns) / 1e9

    def write_output(self, data: bytes) -> None:
        """Write output; a character that is not complete yet waits for its rest."""
        text = self._decoder.decode(data)
        if text:
            self.write_event("o", text)

    def write_event(self, kind: str, text: str) -> None:
        if self._ended_ns is None:
            self._write_line([round(self.seconds, 6), kind, text])

    def close(self) -> None:
        if self._ended_ns is None:
            self._ended_ns = time.monotonic_ns()
            self._file.close()

    def _write_line(self, value: object) -> None:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
        self._file.write(text)
        self._file.flush()
        self.bytes += len(text.encode())


def _whole_lines(file: int, size: int) -> int:
    """Return the size without the last line, if that line has no end."""
    while size > 0:
        begin = max(0, size - _CHUNK_BYTES)
        end = os.pread(file, size - begin, begin).rfind(b"\n")
        if end >= 0:
            return begin + end + 1
        size = begin
    return 0


def paint_screen(lines: Sequence[str], cursor: tuple[int, int] | None) -> str:
    """Return the sequences that paint a screen; this is the first event of a recording."""
    text = "\r\n".join(line.rstrip(" ") for line in lines).rstrip("\r\n")
    return f"{CLEAR_SCREEN}{text}{RESET_STYLE}{move_cursor(*cursor) if cursor is not None else HIDE_CURSOR}"


@record
class CastEvent:
    """One line of a recording: `kind` is "o" for output, "r" for a new size, "m" for a marker."""

    seconds: float
    kind: str
    text: str


def read_events(path: Path) -> Iterator[CastEvent]:
    """Yield the events of a recording; raise with the line number if the file is not a recording."""
    values = _read_values(path)
    _parse_size(next(values), path)
    for number, value in enumerate(values, 2):
        if value is not None:
            yield _parse_event(value, path, number)


def play_events(path: Path, *, speed: float, idle: float) -> Iterator[CastEvent]:
    """Yield the events with the seconds at which to show them.

    They play `speed` times as fast as recorded, with pauses of at most `idle` seconds.
    """
    before = at = 0.0
    for event in read_events(path):
        at += min(max(event.seconds - before, 0.0), idle, _LONGEST_PAUSE_S) / speed
        before = max(event.seconds, before)
        yield CastEvent(at, event.kind, event.text)


def read_sizes(path: Path) -> Iterator[tuple[int, int]]:
    """Yield columns and rows: the first size, then each new one."""
    yield _parse_size(next(_read_values(path)), path)
    yield from (size for event in read_events(path) if (size := parse_resize(event)) is not None)


def parse_resize(event: CastEvent) -> tuple[int, int] | None:
    found = _SIZE.fullmatch(event.text) if event.kind == "r" else None
    return (int(found[1]), int(found[2])) if found else None


def _read_values(path: Path) -> Iterator[Any]:
    """Yield the value of each line, None for an empty one."""
    try:
        with path.open(encoding="utf-8") as file:
            yield _parse_json(file.readline(), path, 1)
            for number, line in enumerate(file, 2):
                yield _parse_json(line, path, number) if line.strip() else None
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadInput(f"The recording {str(path)!r} cannot be read: {words}.") from None


def _parse_json(line: str, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise _not_a_cast(path, number) from None


def _parse_size(head: Any, path: Path) -> tuple[int, int]:
    if isinstance(head, dict) and head.get("version") == 2:
        width, height = (head.get(name) for name in ("width", "height"))
        if isinstance(width, int) and isinstance(height, int) and width > 0 and height > 0:
            return width, height
    raise _not_a_cast(path, 1)


def _parse_event(value: Any, path: Path, number: int) -> CastEvent:
    if isinstance(value, list) and len(value) == 3:
        seconds, kind, text = value
        is_time = isinstance(seconds, int | float) and math.isfinite(seconds) and seconds >= 0
        if is_time and isinstance(kind, str) and isinstance(text, str):
            return CastEvent(seconds, kind, text)
    raise _not_a_cast(path, number)


def _not_a_cast(path: Path, line: int) -> BadInput:
    return BadInput(
        f"{str(path)!r} is not an asciicast v2 file: see line {line}.", "Record one with record-pane."
    )
