"""The output of one pane as a stream of bytes with absolute offsets.

A source feeds the stream. Followers read it from any offset and at their own pace: the newest bytes from one
shared buffer, older ones from the pane's journal if it has one. A follower that cannot get some bytes
receives a `Gap`, with their number if it is known.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import suppress

from muxpilot.journal.folders import Generation
from muxpilot.journal.segments import SegmentFiles
from muxpilot.records import record
from muxpilot.tasks import ChangeSignal
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.streams.older_bytes import OlderBytes
from muxpilot.tmux.streams.ring_buffer import RingBuffer
from muxpilot.trace import Trace, area

BUFFER_BYTES = 1 << 20
# Reasons for a gap.
NOT_HELD = "the pane's journal no longer holds it"
_FAR = "of a pane on another host only the newest 1 MiB can be read"
# So much of a journal is loaded at once; what is older stays in its files until it is asked for.
LOADED_BYTES = 1 << 16
# Kept in memory where a journal has the rest.
_JOURNALED_BYTES = 1 << 18
_CHUNK_BYTES = 1 << 16


@record
class Data:
    """Bytes that the pane printed, and the offset of the first."""

    offset: int
    data: bytes


@record
class Gap:
    """Bytes before `offset` that the follower cannot get. `lost_bytes` is None if it is not known."""

    offset: int
    lost_bytes: int | None
    reason: str


@record
class ExitStatus:
    """How a program ended: the status as a shell reports it, and the signal if one ended it."""

    status: int | None = None
    signal: int | None = None


# The reason of an end that is not the pane's: this muxpilot reads it no more.
STOPPED = "muxpilot has stopped"


@record
class End:
    """The end of a stream: the pane is gone, or its program has ended. `status` is None if unknown."""

    offset: int
    status: int | None
    reason: str
    signal: int | None = None


StreamEvent = Data | Gap | End


class PaneStream:
    """The output of one pane. Its source calls `feed`, `add_gap` and `finish`; followers call `follow`.

    `name` is the same in every muxpilot that reads the same journal. `is_whole`: the stream holds the output
    from the first byte of the pane's program on. `text_before` is what stood before the cursor when it began.
    """

    def __init__(self, pane: PaneId, *, memory_bytes: int = BUFFER_BYTES, trace: Trace | None = None) -> None:
        self.pane = pane
        self.name = secrets.token_hex(3)
        self.is_whole = False
        self.nonce = ""  # of the shell that muxpilot started in the pane, if a journal tells it
        self.text_before = ""
        self.end_event: End | None = None
        self._buffer = RingBuffer(memory_bytes)
        self._older: OlderBytes | None = None
        self._generation: Generation | None = None
        self._has_far_journal = False
        self._gaps: list[tuple[int, Gap]] = []  # each with the offset at which followers are told of it
        self._changed = ChangeSignal()
        self._trace = (trace or area("tmux")).child(pane=pane)

    @property
    def start(self) -> int:
        """Return the oldest offset that can still be read."""
        older = self._held_older
        return older.start if older is not None else self._buffer.start

    @property
    def start_reason(self) -> str:
        """Return why what was printed before the start cannot be read."""
        if self._has_far_journal:
            return _FAR
        return NOT_HELD if self._older is not None else "the reader was slower than the pane"

    @property
    def is_journaled(self) -> bool:
        """Return whether a journal has these bytes too, which other muxpilots read."""
        return self._older is not None or self._has_far_journal

    @property
    def recent_start(self) -> int:
        """Return the oldest offset that can be read without reading a file."""
        return self._buffer.start

    @property
    def end(self) -> int:
        return self._buffer.end

    @property
    def _held_older(self) -> OlderBytes | None:
        """Return the journal if it holds what the buffer has dropped."""
        older = self._older
        return older if older is not None and older.reaches(self._buffer.start) else None

    def use_journal(self, generation: Generation, files: SegmentFiles, *, offset: int, newlines: int) -> None:
        """Begin at an offset of a journal. Bytes that the buffer drops are read from its files."""
        self.name, self.is_whole = generation.name, bool(generation.exit_mark)
        self.text_before, self.nonce = generation.text_before, generation.nonce
        self._generation, self._older = generation, OlderBytes(files)
        self._buffer.restart(offset, newlines, limit=_JOURNALED_BYTES)

    def use_far_journal(self, name: str, *, offset: int, newlines: int) -> None:
        """Begin at an offset of a journal on another host. Bytes that the buffer drops are not read again."""
        self.name, self._has_far_journal = name, True
        self._buffer.restart(offset, newlines)

    def remember_text_before(self, text: str) -> None:
        """Keep what stands before the cursor while nothing was printed yet, for other muxpilots too."""
        self.text_before = text
        if self._generation is not None:
            with suppress(OSError):  # another muxpilot has written it, or the journal is gone
                self._generation.write_text_before(text)

    def read(self, start: int, end: int) -> bytes:
        """Return those of these bytes that can still be read."""
        recent = self._buffer.start
        older = self._held_older if start < recent else None
        data = older.read(start, min(end, recent)) if older is not None else b""
        return data + self._buffer.read(max(start, recent), max(end - max(start, recent), 0))

    def written_at(self, offset: int | None = None) -> float | None:
        """Return when the byte before an offset was printed, at the latest, by the clock of `time.monotonic`.

        Without an offset: when the program ended. None if there is no journal whose files say it.
        """
        if self._older is None or self._generation is None:
            return None
        written = self._generation.ended_at if offset is None else self._older.written_at(offset)
        return None if written is None else time.monotonic() - max(time.time() - written, 0.0)

    def line_number(self, offset: int) -> int:
        """Count the lines that ended before this offset. One that cannot be read counts as the start."""
        older = self._held_older
        if older is not None and offset < self._buffer.start:
            return older.newlines_before(max(offset, older.start))
        return self._buffer.newlines_before(offset)

    def line_start(self, offset: int) -> int:
        """Return the offset after the last newline before this one, or the start."""
        older, recent = self._held_older, self._buffer.start
        found = self._buffer.find_newline_before(offset)
        if older is not None and found <= recent:
            return older.line_start(min(offset, recent))
        return found

    def next_line(self, offset: int) -> int:
        """Return the offset after the next newline, or the end."""
        older = self._held_older
        if older is not None and offset < self._buffer.start:
            found = older.next_line(max(offset, older.start), self._buffer.start)
            return found if found is not None else self._buffer.find_newline(self._buffer.start)
        return self._buffer.find_newline(offset)

    def feed(self, data: bytes, *, is_journaled: bool = False) -> None:
        """Add bytes at the end. Those of the journal can be read again later."""
        self._buffer.append(data)
        if is_journaled and self._older is not None:
            self._older.end = self.end
        self._changed.notify()

    def add_gap(self, reason: str, lost: int | None = None) -> None:
        """Tell followers that bytes are missing here."""
        self._insert_gap(self.end, Gap(self.end, lost, reason))

    def skip_to(self, offset: int, newlines: int, reason: str) -> None:
        """Continue at a later offset, and tell followers how many bytes are missing."""
        gap = Gap(offset, offset - self.end, reason)
        begin = self.end
        self._buffer.restart(offset, newlines)
        if self._older is not None:
            self._older.end = offset
        self._insert_gap(begin, gap)

    def add_old_gap(self, offset: int, lost: int | None, reason: str) -> None:
        """Tell followers that read from the journal that bytes before an offset are missing."""
        self._insert_gap(offset - (lost or 0), Gap(offset, lost, reason))

    def _insert_gap(self, begin: int, gap: Gap) -> None:
        self._gaps.append((begin, gap))
        self._trace.debug("gap in stream", at=gap.offset, lost=gap.lost_bytes, reason=gap.reason)
        self._changed.notify()

    def finish(self, exit: ExitStatus | None, reason: str) -> None:
        """End the stream. A stream that has ended already keeps its first end."""
        if self.end_event is None:
            exit = exit or ExitStatus()
            self.end_event = End(self.end, exit.status, reason, exit.signal)
            self._trace.debug(
                "stream ended", at=self.end, status=exit.status, signal=exit.signal, reason=reason
            )
            self._changed.notify()

    async def follow(self, offset: int | None = None) -> AsyncIterator[StreamEvent]:
        """Yield everything from `offset` on, or from now on without one, until the end of the stream."""
        cursor = self.end if offset is None else offset
        reported = len(self._gaps)
        if offset is not None:
            reported = sum(gap.offset < cursor for _, gap in self._gaps)
        while True:
            event = self._next_event(cursor, reported)
            if event is None:
                await self._changed.wait()
                continue
            if isinstance(event, Data):
                yield event
                cursor = event.offset + len(event.data)
                continue
            begins = [begin for begin, gap in self._gaps[reported : reported + 1] if gap is event]
            if begins and isinstance(event, Gap):
                reported += 1
                has_passed = event.offset < cursor or begins[0] < event.offset == cursor
                if has_passed and event.lost_bytes is not None:
                    continue  # a part of what was reported as lost already
            yield event
            if isinstance(event, End):
                return
            # Never go back to a gap that is older than the buffer: those bytes were reported as lost already.
            cursor = max(cursor, event.offset)

    def _next_event(self, cursor: int, reported: int) -> StreamEvent | None:
        """Return what comes next for a follower that has read up to `cursor` and knows `reported` gaps."""
        if cursor < self.start:
            self._trace.debug("follower is too slow", at=cursor, lost=self.start - cursor)
            return Gap(self.start, self.start - cursor, self.start_reason)
        begin, gap = self._gaps[reported] if reported < len(self._gaps) else (self.end, None)
        if gap is not None and begin <= cursor:
            return gap
        limit = min(begin, cursor + _CHUNK_BYTES)
        if cursor >= limit:
            return self.end_event
        if self._older is not None and cursor < self._buffer.start:
            return self._next_older(self._older, cursor, min(limit, self._buffer.start))
        return Data(cursor, self._buffer.read(cursor, limit - cursor))

    def _next_older(self, older: OlderBytes, cursor: int, limit: int) -> Data | Gap:
        data = older.read_piece(cursor, limit)
        if data:
            return Data(cursor, data)
        after = min(older.next_offset(cursor) or limit, limit)
        return Gap(after, after - cursor, NOT_HELD)
