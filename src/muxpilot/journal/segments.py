"""The segments of one generation: find them, and read bytes by their absolute offset."""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from muxpilot.records import record

_NAME = re.compile("([0-9]{15})-([0-9]{12})(-x)?")


@record
class Segment:
    """One file: the offset of its first byte, and the newlines before it.

    `follows_unknown_loss`: some bytes before it could not be written, and nothing says how many.
    """

    name: str
    offset: int
    newlines: int
    follows_unknown_loss: bool


def parse_name(name: str) -> Segment | None:
    """Return the segment of a file name, or None for any other file."""
    found = _NAME.fullmatch(name)
    return Segment(name, int(found[1]), int(found[2]), found[3] is not None) if found else None


class SegmentFiles:
    """The segments in a folder, the oldest first. `add` and `remove` follow the changes in the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.segments: list[Segment] = []

    def scan(self) -> None:
        """List the folder."""
        found = (parse_name(name) for name in os.listdir(self.folder))
        self.segments = sorted(filter(None, found), key=_order)

    def add(self, name: str) -> None:
        """Add a segment that has appeared. Ignore other files."""
        segment = parse_name(name)
        if segment is not None and segment not in self.segments:
            self.segments = sorted([*self.segments, segment], key=_order)

    def remove(self, name: str) -> None:
        """Forget a segment that is gone."""
        self.segments = [segment for segment in self.segments if segment.name != name]

    @property
    def start(self) -> int | None:
        """Return the oldest offset that the folder holds, or None if it holds nothing."""
        return self.segments[0].offset if self.segments else None

    @property
    def newest(self) -> Segment | None:
        """Return the segment that is written now, or was written last."""
        return self.segments[-1] if self.segments else None

    def find_next(self, segment: Segment) -> Segment | None:
        """Return the segment after this one."""
        return next(iter(self.list_after(segment)), None)

    def list_after(self, segment: Segment) -> list[Segment]:
        """Return the segments after this one."""
        return self.segments[bisect_right(self.segments, _order(segment), key=_order) :]

    def read(self, start: int, end: int) -> bytes:
        """Return bytes from `start` on, up to `end` or the next missing byte."""
        pieces: list[bytes] = []
        for index in range(self._index_at(start), len(self.segments)):
            segment = self.segments[index]
            if start >= end or segment.offset > start:
                break
            limit = self.segments[index + 1].offset if index + 1 < len(self.segments) else end
            piece = self._read_piece(segment, start, min(end, limit))
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)

    def newlines_before(self, offset: int) -> int:
        """Count the newlines between the first byte of the stream and this offset."""
        index = self._index_at(offset)
        if index >= len(self.segments) or self.segments[index].offset > offset:
            return 0
        segment = self.segments[index]
        return segment.newlines + self._read_piece(segment, segment.offset, offset).count(b"\n")

    def size_of(self, segment: Segment) -> int:
        """Return how many bytes a segment has now; 0 if it is gone."""
        with suppress(OSError), open_segment(self.folder, segment) as file:
            return os.fstat(file).st_size
        return 0

    def written_at(self, offset: int) -> float | None:
        """Return when the segment with the byte before an offset was last written: seconds since the epoch.

        None if it is gone.
        """
        index = self._index_at(max(offset - 1, 0))
        if index < len(self.segments):
            with suppress(OSError), open_segment(self.folder, self.segments[index]) as file:
                return os.fstat(file).st_mtime
        return None

    def _index_at(self, offset: int) -> int:
        """Return the index of the segment that holds an offset, or of the first one."""
        return max(bisect_right(self.segments, offset, key=lambda segment: segment.offset) - 1, 0)

    def _read_piece(self, segment: Segment, start: int, end: int) -> bytes:
        """Return bytes of one segment. One that the ring has just removed has none."""
        with suppress(OSError), open_segment(self.folder, segment) as file:
            return os.pread(file, max(end - start, 0), start - segment.offset)
        return b""


def _order(segment: Segment) -> tuple[int, bool]:
    return segment.offset, segment.follows_unknown_loss


@contextmanager
def open_segment(folder: Path, segment: Segment) -> Iterator[int]:
    """Open a segment for reading, and close it in the end."""
    file = open_file(folder, segment)
    try:
        yield file
    finally:
        os.close(file)


def open_file(folder: Path, segment: Segment) -> int:
    """Open a segment for reading. Links and anything but a file of this user are refused."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.open(folder / segment.name, flags)
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(file)
        raise PermissionError(f"{segment.name} is not a file of this user")
    return file
