"""What an agent has read of a pane, and what is new since then.

A journal keeps a pane's stream open from the first reading on. A cursor is a place in that stream; any
cursor stays good for as long as the pane lives, and what it can no longer have is counted. It stands at
the beginning of a line, so that a line that was not whole yet is read again when it has grown. What a
full-screen program draws is told as its screen and does not move the cursor's place in the text below.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.terminal.text import Text, rendered
from muxpilot.tmux import Pane, PaneId, PaneStream, Tmux
from muxpilot.tmux.objects.capture import without_blank_end

_ALIGN_TRIES = 5
_MOST_CHAPTERS = 4
EVERYTHING = 1_000_000
# Below this it takes a few milliseconds; the event loop has others to serve.
_RENDERED_AT_ONCE = 1 << 16
_ALTERNATE = re.compile(rb"\x1b\[\?(?:[0-9;]*;)?(?:1049|1047|47)(?:;[0-9;]*)?([hl])")


@record
class Reading:
    """New lines; `missed` are gone for good, `cursor` is where the next reading begins."""

    lines: Sequence[str]
    missed: int
    cursor: str
    is_alternate: bool = False
    has_more: bool = False


@record
class _Place:
    """The start of a line, its number, and how far the stream had come."""

    offset: int
    line: int
    end: int


class Journals:
    """One journal per pane; all are closed with us."""

    def __init__(self) -> None:
        self._journals: dict[tuple[str, int, PaneId], Journal] = {}

    async def read(self, tmux: Tmux, pane: PaneId, since: str | None, look_back: int) -> Reading:
        """What is new since a cursor; without one, the last `look_back` lines."""
        row = await tmux.panes.get(pane)
        key = (tmux.socket, row.server_pid, pane)  # ids begin anew with every server
        if key not in self._journals:
            await self._forget_the_gone(tmux, row.server_pid)
        journal = self._journals.setdefault(key, Journal(tmux))
        return await journal.read(row, since, look_back)

    async def close(self) -> None:
        journals, self._journals = self._journals, {}
        for journal in journals.values():
            await journal.close()

    async def _forget_the_gone(self, tmux: Tmux, server_pid: int) -> None:
        here = {(tmux.socket, server_pid, row.id) for row in await tmux.panes.list()}
        for key in [key for key in self._journals if key[0] == tmux.socket and key not in here]:
            await self._journals.pop(key).close()


class Journal:
    """A pane's chapters: a new one begins when another program is started in it."""

    def __init__(self, tmux: Tmux) -> None:
        self._tmux = tmux
        self._chapters: list[Chapter] = []
        self._stack = AsyncExitStack()
        self._turn = asyncio.Lock()

    async def read(self, row: Pane, since: str | None, look_back: int) -> Reading:
        async with self._turn:
            begun = self._index(since) if since is not None else None
            last = await self._last(row)
            if since is None or begun is None:
                return await last.look(row, look_back)
            past = replace(row, is_alternate=False)
            *earlier, current = self._chapters[begun:]
            readings = [await chapter.rest(past) for chapter in earlier[1:]]
            if earlier:
                readings = [await earlier[0].new_since(past, since), *readings, await current.rest(row)]
                return _together(readings)
            return await current.new_since(row, since)

    async def close(self) -> None:
        await self._stack.aclose()

    def _index(self, cursor: str) -> int:
        for index, chapter in enumerate(self._chapters):
            if cursor.startswith(f"{chapter.name}."):
                return index
        raise _stale(cursor)

    async def _last(self, row: Pane) -> Chapter:
        if not self._chapters or (self._chapters[-1].stream.ended is not None and not row.is_dead):
            stream = await self._stack.enter_async_context(self._tmux.streams.open(row.id))
            is_whole = self._tmux.streams.is_ours(row.id)
            chapter = Chapter(self._tmux, stream, is_whole=is_whole, is_alternate=row.is_alternate)
            self._chapters = [*self._chapters, chapter][-_MOST_CHAPTERS:]
        return self._chapters[-1]


def _together(readings: Sequence[Reading]) -> Reading:
    lines = [line for reading in readings for line in reading.lines]
    return replace(readings[-1], lines=lines, missed=sum(reading.missed for reading in readings))


class Chapter:
    """One stream, and what stood in the pane before it began."""

    def __init__(self, tmux: Tmux, stream: PaneStream, *, is_whole: bool, is_alternate: bool) -> None:
        self.name = secrets.token_hex(3)
        self.stream = stream
        self._tmux = tmux
        self._is_whole = is_whole
        self._began_alternate = is_alternate and not is_whole
        self._before = ""

    async def look(self, row: Pane, look_back: int) -> Reading:
        """The last lines, whatever was read before."""
        if row.is_alternate:
            return Reading(await self._screen(row), 0, self._cursor(self._below()), is_alternate=True)
        lines, place = await self._last_lines(row, look_back + 1)
        lines = without_blank_end(lines)
        has_more = len(lines) > look_back or self.stream.start > 0  # what the stream no longer holds
        return Reading(lines[-look_back:], 0, self._cursor(place), has_more=has_more)

    async def rest(self, row: Pane) -> Reading:
        """Everything that the chapter has."""
        if self._is_whole:
            return await self.new_since(row, self._cursor(_Place(0, 0, 0)))
        return await self.look(row, EVERYTHING)

    async def new_since(self, row: Pane, since: str) -> Reading:
        old, place = self._parse(since), self._place()
        if old.end == place.end:
            return Reading((), 0, since, row.is_alternate)
        if row.is_alternate:
            cursor = self._cursor(replace(old, end=place.end))
            return Reading(await self._screen(row), 0, cursor, is_alternate=True)
        start, missed = self._still_there(old)
        text = await self._text(row, start, place.end, is_cut=start > old.offset)
        if text.is_alternate and self.stream.ended is None:
            return Reading((), 0, since)  # tmux has left it, and the stream will in a moment
        return Reading(_without_blank_line(text.lines), missed, self._cursor(place))

    def _place(self) -> _Place:
        return self._line_at(self.stream.end)

    def _line_at(self, offset: int) -> _Place:
        start = self.stream.line_start(offset)
        return _Place(start, self.stream.line_number(start), self.stream.end)

    def _below(self) -> _Place:
        """Where the text goes on when the full-screen program has left."""
        start = self.stream.start
        turns = list(_ALTERNATE.finditer(self.stream.read(start, self.stream.end)))
        if turns and turns[-1][1] == b"h":
            return self._line_at(start + turns[-1].start())
        was_always_there = not turns and (self._began_alternate or start > 0)
        return self._line_at(start) if was_always_there else self._place()

    def _still_there(self, old: _Place) -> tuple[int, int]:
        """Where reading can begin, and how many lines before that are gone."""
        oldest = self.stream.start
        if old.offset >= oldest:
            return old.offset, 0
        if self.stream.line_number(oldest) == old.line:
            return oldest, 0  # a line so long that its beginning is gone
        start = self.stream.next_line(oldest)
        return start, self.stream.line_number(start) - old.line

    async def _text(self, row: Pane, start: int, end: int, *, is_cut: bool) -> Text:
        data = self.stream.read(start, end)
        before = self._before if start == 0 else ""
        is_alternate = self._began_alternate if start == 0 else is_cut and _begins_alternate(data)
        if len(data) <= _RENDERED_AT_ONCE:
            return rendered(data, before=before, height=row.height, is_alternate=is_alternate)
        return await asyncio.to_thread(
            rendered, data, before=before, height=row.height, is_alternate=is_alternate
        )

    async def _last_lines(self, row: Pane, wanted: int) -> tuple[list[str], _Place]:
        place = self._place()
        held = place.line - self.stream.line_number(self.stream.start)
        if not self._is_whole and held < wanted:
            return await self._captured(row, wanted)
        text = await self._tail(row, place.end, wanted)
        return text.lines, self._below() if text.is_alternate else place

    async def _tail(self, row: Pane, end: int, wanted: int) -> Text:
        """At least so many lines if there are as many, and not much more than that takes."""
        size = _RENDERED_AT_ONCE
        while True:
            start = max(self.stream.start, end - size)
            following = self.stream.next_line(start) if start > 0 else 0
            at = following if following < end else start
            text = await self._text(row, at, end, is_cut=True)
            if len(text.lines) > wanted or start == self.stream.start:
                return text
            size *= 4

    async def _captured(self, row: Pane, wanted: int) -> tuple[list[str], _Place]:
        """What stands in the pane, and the place in the stream that fits it: also where it never rests."""
        for _ in range(_ALIGN_TRIES):
            end = self.stream.end
            lines = await self._tmux.capture.last(row.id, wanted, join=True)
            before = await self._tmux.capture.cursor_line(row.id) if end == 0 else self._before
            await self._tmux.streams.catch_up(row.id)
            if self.stream.end == end:
                self._before = before
                return lines, self._place()
        place = self._place()
        text = await self._text(row, self.stream.start, place.end, is_cut=True)
        return _joined(lines, text.lines), place

    async def _screen(self, row: Pane) -> list[str]:
        return without_blank_end(await self._tmux.capture.between(row.id, 0, "-"))

    def _cursor(self, place: _Place) -> str:
        return f"{self.name}.{place.offset}.{place.line}.{place.end}"

    def _parse(self, cursor: str) -> _Place:
        numbers = cursor.split(".")[1:]
        if len(numbers) != 3 or not all(re.fullmatch("[0-9]{1,18}", number) for number in numbers):
            raise _stale(cursor)
        place = _Place(*map(int, numbers))
        if not place.offset <= place.end <= self.stream.end:
            raise _stale(cursor)
        return place


def _stale(cursor: str) -> BadInput:
    return BadInput(
        f"The argument 'since' must be a cursor of this pane, not {cursor[:40]!r}.",
        "Call read-pane without it, and use the cursor that it answers.",
    )


def _begins_alternate(data: bytes) -> bool:
    """Whether a full-screen program drew this: then the first turn is that it leaves."""
    turn = _ALTERNATE.search(data)
    return turn is not None and turn[1] == b"l"


def _joined(captured: list[str], streamed: list[str]) -> list[str]:
    """The lines from before the stream and those of it; they overlap where the capture saw both."""
    whole = streamed[1:-1]  # the first and the last may be parts of lines
    if not whole:
        return captured
    for at in range(len(captured) - 1):
        seen = captured[at:-1]
        if seen == whole[: len(seen)]:
            return [*captured[:at], *streamed[1:]]
    return streamed


def _without_blank_line(lines: Sequence[str]) -> list[str]:
    """Without the line that is about to be written, as long as there is nothing on it."""
    rows = list(lines)
    return rows if rows and rows[-1].strip() else rows[:-1]
