"""What a pane prints, byte by byte, as anybody may follow it from any offset.

A source feeds the stream; followers read it at their own pace from one shared memory. Whatever a
follower cannot have is said: how many bytes are gone, or that nobody knows how many.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from muxpilot.records import record
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.streams.ring import Ring

MEMORY_BYTES = 1 << 20
_CHUNK = 1 << 18


@record
class Data:
    offset: int
    data: bytes


@record
class Gap:
    """Bytes before `offset` that were not seen; `lost` is None where their number is not known."""

    offset: int
    lost: int | None
    reason: str


@record
class Exit:
    """How a program ended: the status as a shell tells it, and the signal if it was one."""

    status: int | None = None
    signal: int | None = None


@record
class End:
    """The pane is gone or its program has ended; the status as a shell tells it, where it is known."""

    offset: int
    status: int | None
    reason: str
    signal: int | None = None


Event = Data | Gap | End


class PaneStream:
    """One pane's output; `feed`, `gap` and `finish` are for its source."""

    def __init__(self, pane: PaneId, *, memory_bytes: int = MEMORY_BYTES) -> None:
        self.pane = pane
        self.ended: End | None = None
        self._ring = Ring(memory_bytes)
        self._gaps: list[Gap] = []
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def start(self) -> int:
        """The oldest offset that can still be read."""
        return self._ring.start

    @property
    def end(self) -> int:
        return self._ring.end

    def read(self, start: int, end: int) -> bytes:
        """What is still there of these bytes."""
        return self._ring.read(max(start, self.start), end - max(start, self.start))

    def line_number(self, offset: int) -> int:
        """How many lines had ended before this offset; one that is gone counts as the oldest there is."""
        return self._ring.newlines_before(offset)

    def line_start(self, offset: int) -> int:
        return self._ring.find_newline_before(offset)

    def next_line(self, offset: int) -> int:
        return self._ring.find_newline(offset)

    def feed(self, data: bytes) -> None:
        self._ring.append(data)
        self._wake()

    def gap(self, reason: str, lost: int | None = None) -> None:
        self._gaps.append(Gap(self.end, lost, reason))
        self._wake()

    def finish(self, exit: Exit | None, reason: str) -> None:
        if self.ended is None:
            exit = exit or Exit()
            self.ended = End(self.end, exit.status, reason, exit.signal)
            self._wake()

    async def follow(self, offset: int | None = None) -> AsyncIterator[Event]:
        """Everything from `offset` on (from now on without one), until the end."""
        cursor = self.end if offset is None else offset
        told = sum(gap.offset < cursor for gap in self._gaps) if offset is not None else len(self._gaps)
        while True:
            event = self._after(cursor, told)
            if event is None:
                await self._changed()
                continue
            yield event
            if isinstance(event, End):
                return
            told += event in self._gaps[told : told + 1]
            # Not back to a gap that is older than the memory: what lies between was told as lost.
            cursor = max(cursor, event.offset + (len(event.data) if isinstance(event, Data) else 0))

    def _after(self, cursor: int, told: int) -> Event | None:
        """The next thing for a follower who has read up to `cursor` and was told of `told` gaps."""
        if cursor < self.start:
            return Gap(self.start, self.start - cursor, "the reader was slower than the pane")
        gap = self._gaps[told] if told < len(self._gaps) else None
        if gap is not None and gap.offset <= cursor:
            return gap
        limit = gap.offset if gap is not None else self.end
        if cursor < limit:
            return Data(cursor, self._ring.read(cursor, min(limit - cursor, _CHUNK)))
        return self.ended

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def _changed(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future
