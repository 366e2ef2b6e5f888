"""Read from a pane only the lines that are new since a cursor.

A `PaneReader` keeps the stream of a pane open from the first reading on. A cursor is a position in that
stream and stays valid while the pane exists, in every muxpilot if the pane has a journal. Lines that the
stream no longer holds are counted as missed. A cursor is always at the beginning of a line, so an unfinished
line is read again when it has grown. While a full-screen program runs, its screen is returned instead, and
the cursor does not move in the text below it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.terminal.escapes import ALTERNATE_SWITCH_BYTES
from muxpilot.terminal.text import RenderedText, render_text
from muxpilot.tmux import Pane, PaneId, PaneStream, Tmux
from muxpilot.tmux.objects.capture import strip_trailing_blank_rows
from muxpilot.trace import area

ALL_LINES = 1_000_000
_ALIGN_TRIES = 5
_MOST_STREAMS = 4
# Rendering this much takes a few milliseconds. More is rendered in a thread: the event loop serves others.
_RENDERED_AT_ONCE = 1 << 16
# How far back to look for the beginning of a full-screen program.
_SEARCHED_BYTES = 2 << 20

trace = area("reading")


@record
class NewLines:
    """Lines of a pane. `missed` lines are lost for good; `cursor` is where the next reading begins."""

    lines: Sequence[str]
    missed: int
    cursor: str
    is_alternate: bool = False
    has_more: bool = False


@record
class StreamPosition:
    """The start of a line, the number of that line, and the end of the stream at that time."""

    offset: int
    line: int
    end: int


class PaneReaders:
    """One reader for each pane that was read."""

    def __init__(self) -> None:
        self._readers: dict[tuple[str, int, PaneId], PaneReader] = {}

    async def read(self, tmux: Tmux, pane: PaneId, since: str | None, look_back: int) -> NewLines:
        """Return the lines since a cursor; without a cursor, the last `look_back` lines."""
        row = await tmux.panes.get(pane)
        reader = await self._reader_of(tmux, row)
        new = await reader.read(row, since, look_back)
        if trace.is_debug:
            trace.debug(
                "pane read",
                pane=pane,
                has_cursor=since is not None,
                lines=len(new.lines),
                missed=new.missed,
                is_alternate=new.is_alternate,
                cursor=new.cursor,
            )
        return new

    async def follow(self, tmux: Tmux, pane: PaneId) -> None:
        """Keep the pane's stream open from now on, so that cursors for it can be made later."""
        row = await tmux.panes.get(pane)
        await (await self._reader_of(tmux, row)).follow(row)

    async def make_cursor(self, tmux: Tmux, pane: PaneId, offset: int) -> str:
        """Return a cursor for what comes after an offset of the pane's stream."""
        row = await tmux.panes.get(pane)
        return await (await self._reader_of(tmux, row)).make_cursor(row, offset)

    async def make_cursor_in(self, tmux: Tmux, row: Pane, offset: int) -> str:
        """Return the same for a pane whose row is known and that shows no full-screen program."""
        row = replace(row, is_alternate=False) if row.is_alternate else row
        return await (await self._reader_of(tmux, row)).make_cursor(row, offset)

    async def find_position(self, tmux: Tmux, pane: PaneId, cursor: str) -> StreamPosition:
        """Return where a cursor is in the pane's stream. Raise BadInput if it is not one of this pane."""
        row = await tmux.panes.get(pane)
        return await (await self._reader_of(tmux, row)).find_position(row, cursor)

    async def _reader_of(self, tmux: Tmux, row: Pane) -> PaneReader:
        key = (tmux.socket, row.server_pid, row.id)  # each tmux server counts its pane ids from 0 again
        reader = self._readers.get(key)
        if reader is not None:
            return reader
        await self._close_readers_of_gone_panes(tmux, row.server_pid)
        return self._readers.setdefault(key, PaneReader(tmux))

    async def close(self) -> None:
        """Close all streams."""
        readers, self._readers = self._readers, {}
        for reader in readers.values():
            await reader.close()

    async def _close_readers_of_gone_panes(self, tmux: Tmux, server_pid: int) -> None:
        here = {(tmux.socket, server_pid, row.id) for row in await tmux.panes.list()}
        for key in [key for key in self._readers if key[0] == tmux.socket and key not in here]:
            trace.debug("reader closed", pane=key[2], reason="pane is gone")
            await self._readers.pop(key).close()


class PaneReader:
    """The streams of one pane. A new stream begins when another program is started in the pane."""

    def __init__(self, tmux: Tmux) -> None:
        self._tmux = tmux
        self._streams: list[StreamReader] = []
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()

    async def read(self, row: Pane, since: str | None, look_back: int) -> NewLines:
        """Return the lines since a cursor, through all streams that began after it."""
        async with self._lock:
            last = await self._current_stream(row)
            first = await self._find_stream(row, since) if since is not None else None
            if since is None or first is None:
                return await last.read_last(row, look_back)
            past = replace(row, is_alternate=False)
            *earlier, current = self._streams[first:]
            readings = [await stream.read_all(past) for stream in earlier[1:]]
            if earlier:
                readings = [await earlier[0].read_since(past, since), *readings, await current.read_all(row)]
                return _merge(readings)
            return await current.read_since(row, since)

    async def follow(self, row: Pane) -> None:
        async with self._lock:
            await self._current_stream(row)

    async def make_cursor(self, row: Pane, offset: int) -> str:
        """Return a cursor at an offset of the newest stream."""
        async with self._lock:
            return (await self._current_stream(row)).make_cursor(row, offset)

    async def find_position(self, row: Pane, cursor: str) -> StreamPosition:
        """Return where a cursor is in the newest stream: at its beginning if the cursor is older than it."""
        async with self._lock:
            newest = await self._current_stream(row)
            stream = self._streams[await self._find_stream(row, cursor)]
            position = stream.parse_cursor(cursor)
            return position if stream is newest else StreamPosition(0, 0, 0)

    async def close(self) -> None:
        await self._stack.aclose()

    async def _find_stream(self, row: Pane, cursor: str) -> int:
        """Return the index of the stream that a cursor is in. Call it after `_current_stream`."""
        name = cursor.partition(".")[0]
        if all(stream.name != name for stream in self._streams):
            await self._load_earlier(row, name)
        for index, stream in enumerate(self._streams):
            if stream.name == name:
                return index
        raise _bad_cursor(cursor)

    async def _load_earlier(self, row: Pane, name: str) -> None:
        """Load the streams from this one on that are older than those we have, from their journals."""
        streams = await self._tmux.streams.read_earlier(row.id, name, before=self._streams[0].name)
        earlier = [StreamReader(self._tmux, stream, is_alternate=False) for stream in streams]
        trace.debug("earlier streams loaded", pane=row.id, name=name, count=len(earlier))
        self._streams = [*earlier, *self._streams][-_MOST_STREAMS:]

    async def _current_stream(self, row: Pane) -> StreamReader:
        """Return the newest stream; open one if there is none, or if another program was started."""
        if not self._streams or (self._streams[-1].stream.end_event is not None and not row.is_dead):
            stream = await self._stack.enter_async_context(self._tmux.streams.open(row.id))
            reader = StreamReader(self._tmux, stream, is_alternate=row.is_alternate)
            self._streams = [*self._streams, reader][-_MOST_STREAMS:]
            trace.debug("stream opened", pane=row.id, name=reader.name, is_whole=stream.is_whole)
        return self._streams[-1]


def _merge(readings: Sequence[NewLines]) -> NewLines:
    lines = [line for reading in readings for line in reading.lines]
    return replace(readings[-1], lines=lines, missed=sum(reading.missed for reading in readings))


class StreamReader:
    """One stream, and the text that was in the pane before it began.

    `is_alternate`: a full-screen program runs in the pane now.
    """

    def __init__(self, tmux: Tmux, stream: PaneStream, *, is_alternate: bool) -> None:
        self.name = stream.name
        self.stream = stream
        self._tmux = tmux
        self._is_whole = stream.is_whole
        self._began_alternate = not stream.is_whole and _began_in_full_screen(
            stream, is_alternate=is_alternate
        )

    def make_cursor(self, row: Pane, offset: int) -> str:
        """Return a cursor at an offset, or where the text below a full-screen program goes on."""
        if row.is_alternate:
            return self._format_cursor(self._position_below_program())
        offset = min(offset, self.stream.end)
        start = self.stream.line_start(offset)
        return self._format_cursor(StreamPosition(start, self.stream.line_number(start), offset))

    async def read_last(self, row: Pane, look_back: int) -> NewLines:
        """Return the last lines, whatever was read before."""
        if row.is_alternate:
            cursor = self._format_cursor(self._position_below_program())
            return NewLines(await self._capture_screen(row), 0, cursor, is_alternate=True)
        if look_back >= ALL_LINES and self._is_whole:
            return await self._read_whole(row)
        lines, position = await self._read_last_lines(row, look_back + 1)
        lines = strip_trailing_blank_rows(lines)
        has_more = len(lines) > look_back or self.stream.start > 0  # the stream no longer holds its start
        return NewLines(lines[-look_back:], 0, self._format_cursor(position), has_more=has_more)

    async def read_all(self, row: Pane) -> NewLines:
        """Return all lines that the stream still holds."""
        return await (self._read_whole(row) if self._is_whole else self.read_last(row, ALL_LINES))

    async def _read_whole(self, row: Pane) -> NewLines:
        """Return all lines since the pane's first byte, and the number of those that are lost."""
        return await self.read_since(row, self._format_cursor(StreamPosition(0, 0, 0)))

    async def read_since(self, row: Pane, since: str) -> NewLines:
        """Return the lines after a cursor of this stream."""
        old, position = self.parse_cursor(since), self._end_position()
        if old.end == position.end:
            return NewLines((), 0, since, row.is_alternate)
        if row.is_alternate:
            cursor = self._format_cursor(replace(old, end=position.end))
            return NewLines(await self._capture_screen(row), 0, cursor, is_alternate=True)
        start, missed = self._find_start(old)
        text = await self._render(row, start, position.end, is_cut=start > old.offset)
        if text.is_alternate and self.stream.end_event is None:
            return NewLines((), 0, since)  # tmux has left the alternate screen; the stream is a moment late
        return NewLines(_without_blank_last_line(text.lines), missed, self._format_cursor(position))

    def _end_position(self) -> StreamPosition:
        return self._position_at(self.stream.end)

    def _position_at(self, offset: int) -> StreamPosition:
        start = self.stream.line_start(offset)
        return StreamPosition(start, self.stream.line_number(start), self.stream.end)

    def _position_below_program(self) -> StreamPosition:
        """Return where the text continues after the full-screen program has ended."""
        start = max(self.stream.start, self.stream.end - _SEARCHED_BYTES)
        switches = list(ALTERNATE_SWITCH_BYTES.finditer(self.stream.read(start, self.stream.end)))
        if switches and switches[-1][1] == b"h":
            return self._position_at(start + switches[-1].start())
        was_always_there = not switches and (self._began_alternate or start > 0)
        return self._position_at(start) if was_always_there else self._end_position()

    def _find_start(self, old: StreamPosition) -> tuple[int, int]:
        """Return where reading can begin, and how many lines before that are lost."""
        oldest = self.stream.start
        if old.offset >= oldest:
            return old.offset, 0
        if self.stream.line_number(oldest) == old.line:
            return oldest, 0  # a line so long that its beginning is lost
        start = self.stream.next_line(oldest)
        missed = self.stream.line_number(start) - old.line
        trace.debug("gap", stream=self.name, wanted=old.offset, oldest=oldest, missed=missed)
        return start, missed

    async def _render(self, row: Pane, start: int, end: int, *, is_cut: bool) -> RenderedText:
        data = self.stream.read(start, end)
        before = self.stream.text_before if start == 0 else ""
        is_alternate = self._began_alternate if start == 0 else is_cut and _begins_in_full_screen(data)
        if len(data) <= _RENDERED_AT_ONCE:
            return render_text(data, before=before, shape=row.shape, is_alternate=is_alternate)
        return await asyncio.to_thread(
            render_text, data, before=before, shape=row.shape, is_alternate=is_alternate
        )

    async def _read_last_lines(self, row: Pane, wanted: int) -> tuple[list[str], StreamPosition]:
        position = self._end_position()
        held = position.line - self.stream.line_number(self.stream.start)
        if not self._is_whole and held < wanted:
            return await self._capture_aligned(row, wanted)
        text = await self._render_tail(row, position.end, wanted)
        return text.lines, self._position_below_program() if text.is_alternate else position

    async def _render_tail(self, row: Pane, end: int, wanted: int) -> RenderedText:
        """Render at least `wanted` lines if the stream has them, and not much more than that."""
        size = _RENDERED_AT_ONCE
        while True:
            start = max(self.stream.start, end - size)
            following = self.stream.next_line(start) if start > 0 else 0
            at = following if following < end else start
            text = await self._render(row, at, end, is_cut=True)
            if len(text.lines) > wanted or start == self.stream.start:
                return text
            size *= 4

    async def _capture_aligned(self, row: Pane, wanted: int) -> tuple[list[str], StreamPosition]:
        """Capture the last lines of the pane with the position in the stream that belongs to them.

        If the pane prints during every try, the capture is joined with the lines of the stream.
        """
        for _ in range(_ALIGN_TRIES):
            end = self.stream.end
            lines = await self._tmux.capture.last_lines(row.id, wanted, join=True)
            before = await self._tmux.capture.text_before_cursor(row.id) if end == 0 else None
            await self._tmux.streams.catch_up(row.id)
            if self.stream.end == end:
                if before is not None:
                    self.stream.remember_text_before(before)
                return lines, self._end_position()
        trace.debug("capture not aligned", pane=row.id, tries=_ALIGN_TRIES)
        position = self._end_position()
        text = await self._render(row, self.stream.start, position.end, is_cut=True)
        return _join_overlapping(lines, text.lines), position

    async def _capture_screen(self, row: Pane) -> list[str]:
        return strip_trailing_blank_rows(await self._tmux.capture.rows_between(row.id, 0, "-"))

    def _format_cursor(self, position: StreamPosition) -> str:
        return f"{self.name}.{position.offset}.{position.line}.{position.end}"

    def parse_cursor(self, cursor: str) -> StreamPosition:
        """Return the position that a cursor of this stream holds."""
        numbers = cursor.split(".")[1:]
        if len(numbers) != 3 or not all(re.fullmatch("[0-9]{1,18}", number) for number in numbers):
            raise _bad_cursor(cursor)
        position = StreamPosition(*map(int, numbers))
        if not position.offset <= position.end <= self.stream.end:
            raise _bad_cursor(cursor)
        return position


def _bad_cursor(cursor: str) -> BadInput:
    return BadInput(
        f"The argument 'since' must be a cursor of this pane, not {cursor[:40]!r}.",
        "Call read-pane without it, and use the cursor in its answer.",
    )


def _began_in_full_screen(stream: PaneStream, *, is_alternate: bool) -> bool:
    """Return whether a full-screen program ran in the pane when its stream began."""
    switch = ALTERNATE_SWITCH_BYTES.search(stream.read(stream.start, stream.end))
    return switch[1] == b"l" if switch is not None else is_alternate


def _begins_in_full_screen(data: bytes) -> bool:
    """Return True if a full-screen program drew the first bytes: then the first switch leaves it."""
    switch = ALTERNATE_SWITCH_BYTES.search(data)
    return switch is not None and switch[1] == b"l"


def _join_overlapping(captured: list[str], streamed: list[str]) -> list[str]:
    """Join the lines from before the stream with those of the stream; the capture has a part of both."""
    whole = streamed[1:-1]  # the first and the last may be parts of lines
    if not whole:
        return captured
    for at in range(len(captured) - 1):
        overlap = captured[at:-1]
        if overlap == whole[: len(overlap)]:
            return [*captured[:at], *streamed[1:]]
    return streamed


def _without_blank_last_line(lines: Sequence[str]) -> list[str]:
    """Return the lines without an empty last one, which is about to be written."""
    rows = list(lines)
    return rows if rows and rows[-1].strip() else rows[:-1]
