"""The output of one pane as a stream of bytes with absolute offsets.

A source feeds the stream. Followers read it from any offset and at their own pace, from one shared buffer. A
follower that cannot get some bytes receives a `Gap`, with their number if it is known.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from muxpilot.records import record
from muxpilot.tasks import ChangeSignal
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.streams.ring_buffer import RingBuffer
from muxpilot.trace import Trace, area

BUFFER_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 18


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


@record
class End:
    """The end of a stream: the pane is gone, or its program has ended. `status` is None if unknown."""

    offset: int
    status: int | None
    reason: str
    signal: int | None = None


StreamEvent = Data | Gap | End


class PaneStream:
    """The output of one pane. Its source calls `feed`, `add_gap` and `finish`; followers call `follow`."""

    def __init__(self, pane: PaneId, *, memory_bytes: int = BUFFER_BYTES, trace: Trace | None = None) -> None:
        self.pane = pane
        self.end_event: End | None = None
        self._buffer = RingBuffer(memory_bytes)
        self._gaps: list[Gap] = []
        self._changed = ChangeSignal()
        self._trace = (trace or area("tmux")).child(pane=pane)

    @property
    def start(self) -> int:
        """Return the oldest offset that can still be read."""
        return self._buffer.start

    @property
    def end(self) -> int:
        return self._buffer.end

    def read(self, start: int, end: int) -> bytes:
        """Return those of these bytes that the buffer still holds."""
        return self._buffer.read(max(start, self.start), end - max(start, self.start))

    def line_number(self, offset: int) -> int:
        """Count the lines that ended before this offset. One older than the buffer counts as its start."""
        return self._buffer.newlines_before(offset)

    def line_start(self, offset: int) -> int:
        return self._buffer.find_newline_before(offset)

    def next_line(self, offset: int) -> int:
        return self._buffer.find_newline(offset)

    def feed(self, data: bytes) -> None:
        self._buffer.append(data)
        self._changed.notify()

    def add_gap(self, reason: str, lost: int | None = None) -> None:
        """Tell followers that bytes are missing here."""
        self._gaps.append(Gap(self.end, lost, reason))
        self._trace.debug("gap in stream", at=self.end, lost=lost, reason=reason)
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
        reported = sum(gap.offset < cursor for gap in self._gaps) if offset is not None else len(self._gaps)
        while True:
            event = self._next_event(cursor, reported)
            if event is None:
                await self._changed.wait()
                continue
            yield event
            if isinstance(event, End):
                return
            reported += event in self._gaps[reported : reported + 1]
            # Never go back to a gap that is older than the buffer: those bytes were reported as lost already.
            cursor = max(cursor, event.offset + (len(event.data) if isinstance(event, Data) else 0))

    def _next_event(self, cursor: int, reported: int) -> StreamEvent | None:
        """Return what comes next for a follower that has read up to `cursor` and knows `reported` gaps."""
        if cursor < self.start:
            self._trace.debug("follower is too slow", at=cursor, lost=self.start - cursor)
            return Gap(self.start, self.start - cursor, "the reader was slower than the pane")
        gap = self._gaps[reported] if reported < len(self._gaps) else None
        if gap is not None and gap.offset <= cursor:
            return gap
        limit = gap.offset if gap is not None else self.end
        if cursor < limit:
            return Data(cursor, self._buffer.read(cursor, min(limit - cursor, _CHUNK_BYTES)))
        return self.end_event
