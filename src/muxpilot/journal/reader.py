"""Read a generation from its oldest kept byte to the newest one, while the pipe's program writes it."""

from __future__ import annotations

import os
from contextlib import suppress

from muxpilot.journal.folders import END_FILE, Generation
from muxpilot.journal.segments import Segment, SegmentFiles, open_file
from muxpilot.records import record

# So many segments are kept open for a reader that is slower than the pane. They stay on the disk so long.
_MOST_HELD = 64
_NOT_WRITTEN = "the pane's journal could not be written, or was removed before it was read"
_CHANGED = "another program changed the pane's journal"


@record
class Missing:
    """Bytes that cannot be read. The next byte is at `offset`, after `newlines` newlines if that is known.

    `lost_bytes` is None if it is not known.
    """

    offset: int
    lost_bytes: int | None
    reason: str
    newlines: int | None = None


class JournalReader:
    """A position in a generation. `offset` is the absolute offset of the next byte.

    It stays equal to what the names of the segments say, unless another program has cut a segment: offsets
    never go back.
    """

    def __init__(self, generation: Generation) -> None:
        self.generation = generation
        self.files = SegmentFiles(generation.path)
        self.offset = 0
        self.has_end = False
        self.may_have_more = False
        self._segment: Segment | None = None  # the one that is being read, or was read last
        self._first: Segment | None = None
        self._file = -1
        self._file_offset = 0
        self._held: dict[str, int] = {}  # open segments that are to be read, by name

    def begin(self, recent_bytes: int) -> tuple[int, int, list[Missing]]:
        """Move to where about `recent_bytes` are left to read.

        Return that offset, the number of newlines before it, and what is missing between older segments.
        """
        self.scan()
        segments = self.files.segments
        if not segments:
            return 0, 0, []
        end = segments[-1].offset + self.files.size_of(segments[-1])
        first = max(
            (at for at, found in enumerate(segments) if end - found.offset >= recent_bytes), default=0
        )
        self._first = segments[first]
        # Not before a hole between two segments.
        size = self.files.size_of(self._first)
        self.offset = max(self._first.offset, min(end - recent_bytes, self._first.offset + size))
        return self.offset, self.files.newlines_before(self.offset), self._holes_before(first)

    def scan(self) -> None:
        """List the folder again. Raise FileNotFoundError if it is gone."""
        self.files.scan()
        for name in self._held:
            self.files.add(name)
        self.has_end = self.has_end or (self.generation.path / END_FILE).exists()

    def note_created(self, name: str) -> None:
        """Remember a new file."""
        self.has_end = self.has_end or name == END_FILE
        self.files.add(name)
        self._hold_unread()

    def note_removed(self, name: str) -> None:
        """Forget a file that the program has removed, unless we hold it to read it."""
        if name not in self._held:
            self.files.remove(name)

    def _hold_unread(self) -> None:
        """Open the segments that are to be read if we are behind the program, before it removes them."""
        if self._segment is None:
            return
        unread = self.files.list_after(self._segment)
        if len(unread) < 2:  # the usual case: only the newest one is to be read
            return
        for segment in unread:
            if segment.name not in self._held and len(self._held) < _MOST_HELD:
                with suppress(OSError):
                    self._held[segment.name] = open_file(self.generation.path, segment)

    def read_new(self, most: int) -> list[bytes | Missing]:
        """Return what was written since the last call, at most `most` bytes.

        `may_have_more` tells whether another call may return more at once.
        """
        events: list[bytes | Missing] = []
        self.may_have_more = False
        while self._file >= 0 or self._open_next(events):
            data = os.read(self._file, most)
            if data:
                events.append(data)
                self.offset += len(data)
                self._file_offset += len(data)
                self.may_have_more = len(data) == most or self._has_next()
                break
            # The program creates the next segment only when it has written this one.
            if not self._open_next(events):
                self._check_size(events)
                break
        return events

    def _has_next(self) -> bool:
        return self._segment is not self.files.newest and self._find_next() is not None

    def close(self) -> None:
        """Close the open files."""
        self._close_file()
        while self._held:
            os.close(self._held.popitem()[1])

    def _close_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open_next(self, events: list[bytes | Missing]) -> bool:
        """Open the next segment that can be opened. Return False if there is none yet."""
        while (segment := self._find_next()) is not None:
            with suppress(OSError):
                file = self._held.pop(segment.name, -1)
                file = file if file >= 0 else open_file(self.generation.path, segment)
                self._close_file()
                is_first, self._segment, self._file = self._segment is None, segment, file
                begin = self.offset - segment.offset if is_first and segment == self._first else 0
                self._file_offset = os.lseek(file, begin, os.SEEK_SET)
                if not begin:
                    self._note_loss(segment, events)
                return True
            self.files.remove(segment.name)  # the program has removed it, or it is not a file
        return False

    def _find_next(self) -> Segment | None:
        if self._segment is not None:
            return self.files.find_next(self._segment)
        return self._first if self._first in self.files.segments else next(iter(self.files.segments), None)

    def _note_loss(self, segment: Segment, events: list[bytes | Missing]) -> None:
        lost = segment.offset - self.offset
        if lost > 0:
            self.offset = segment.offset
            events.append(Missing(self.offset, lost, _NOT_WRITTEN, segment.newlines))
        elif lost < 0:
            events.append(Missing(self.offset, None, _CHANGED))
        if segment.follows_unknown_loss:
            events.append(Missing(self.offset, None, _NOT_WRITTEN))

    def _check_size(self, events: list[bytes | Missing]) -> None:
        """Continue at the end of a segment that another program has cut."""
        size = os.fstat(self._file).st_size
        if size < self._file_offset:
            self._file_offset = os.lseek(self._file, size, os.SEEK_SET)
            events.append(Missing(self.offset, None, _CHANGED))

    def _holes_before(self, last: int) -> list[Missing]:
        holes = []
        for index in range(1, last + 1):
            before, after = self.files.segments[index - 1 : index + 1]
            lost = after.offset - before.offset - self.files.size_of(before)
            if lost > 0:
                holes.append(Missing(after.offset, lost, _NOT_WRITTEN))
            if after.follows_unknown_loss:
                holes.append(Missing(after.offset, None, _NOT_WRITTEN))
        return holes
