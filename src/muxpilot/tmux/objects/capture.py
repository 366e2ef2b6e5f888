"""The text and colours that a pane shows, from its screen and its scrollback."""

from __future__ import annotations

import re
from collections.abc import Sequence

from muxpilot.errors import BadInput, NotFound
from muxpilot.records import record
from muxpilot.terminal.capture_text import decode_rows, decode_screen_rows, decode_styled_rows, looks_drawn
from muxpilot.terminal.escapes import ESC, LINK, SGR, SGR_SEQUENCE
from muxpilot.terminal.width import EmojiCells, cell_width
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.version import DEAD_ROW_HAS_FORMAT, JOINED_LINES_HAVE_NO_FILLING, emoji_cells

# A line number of tmux: 0 is the top of the screen, -5 is five lines above it, "-" the first or the last.
LineNumber = int | str

# What a colour sequence sets, by its first number. All other sequences set attributes.
_COLOUR = re.compile(r"(?P<foreground>3[0-9]|9[0-7])|(?P<background>4[0-9]|10[0-7])|(?P<underline>5[89])")

# tmux 3.2 draws it with the status and the time, in English, below the last text.
_DEAD_ROW = re.compile(r"Pane is dead \(.*\)\s*")
_TAB_COLUMNS = 8
_SCREEN_NUMBERS = "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on}"


@record
class CapturedScreen:
    """The screen of a pane at one moment.

    `cursor_at` is the column and row of the cursor, `cursor` the same, or None if it is hidden.
    """

    lines: list[str]
    columns: int
    rows: int
    cursor: tuple[int, int] | None
    emoji: EmojiCells = EmojiCells.PAIRED
    cursor_at: tuple[int, int] = (0, 0)
    is_alternate: bool = False  # a full-screen program covers the text of the pane


@record
class CursorLine:
    """The text before the cursor on its row. Programs that draw a whole screen often hide the cursor."""

    text: str
    is_cursor_shown: bool
    is_alternate: bool  # full-screen programs draw on the alternate screen


class Capture:
    """Reads the screen and the scrollback of panes with capture-pane."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def last_lines(
        self, pane: PaneId, lines: int = 200, *, colors: bool = False, join: bool = False
    ) -> list[str]:
        """Return the last lines, at most `lines`. Blank rows below the text do not count."""
        if lines < 1:
            raise BadInput(f"The number of lines {lines} is out of range.", "Use 1 or more.")
        for start in (-lines, -lines * 10, "-"):
            rows = strip_trailing_blank_rows(await self._rows(pane, start, "-", colors=colors, join=join))
            rows = await self._without_dead_row(pane, rows)
            if not join or len(rows) > lines:  # else the beginning of the first joined line may be missing
                break
        return keep_last(rows, lines, colors=colors)

    async def _without_dead_row(self, pane: PaneId, rows: list[str]) -> list[str]:
        """Drop the row that an older tmux draws on the screen of a pane whose program has ended."""
        if not rows or not _DEAD_ROW.fullmatch(SGR.sub("", rows[-1])):
            return rows
        if await self._connection.server_version() >= DEAD_ROW_HAS_FORMAT:
            return rows
        ask = ("display-message", "-p", "-t", pane, "#{pane_dead}")
        reply = await self._connection.run(ask, repeatable=True)
        return strip_trailing_blank_rows(rows[:-1]) if reply.first_line == "1" else rows

    async def is_alternate(self, pane: PaneId) -> bool:
        """Return whether a full-screen program is on the alternate screen, over the text of the pane."""
        try:
            reply = await self._connection.run(
                ("display-message", "-p", "-t", pane, "#{alternate_on}"), repeatable=True
            )
        except NotFound:
            raise NotFound("pane", pane) from None
        return reply.first_line == "1"

    async def rows_between(
        self,
        pane: PaneId,
        start: LineNumber | None,
        end: LineNumber | None,
        *,
        colors: bool = False,
        join: bool = False,
    ) -> list[str]:
        """Return the rows from `start` to `end`, both included; default is the whole screen."""
        return await self._rows(
            pane, 0 if start is None else start, "-" if end is None else end, colors=colors, join=join
        )

    async def rows_around(
        self,
        pane: PaneId,
        start: LineNumber,
        end: LineNumber,
        margin: int,
        *,
        colors: bool = False,
        join: bool = False,
    ) -> tuple[list[str], list[str], list[str]]:
        """Return the rows above a range, those of the range, and those below it, all of one moment.

        Above the first line of a pane, tmux returns that line instead.
        """
        above = None if start == "-" else (int(start) - margin, int(start) - 1)
        below = None if end == "-" else (int(end) + 1, int(end) + margin)
        ranges = [span for span in (above, (start, end), below) if span is not None]
        parts = await self._ranges(pane, ranges, colors=colors, join=join)
        parts = parts if above is not None else [[], *parts]
        return parts[0], parts[1], parts[2] if below is not None else []

    async def padded_rows(self, pane: PaneId) -> list[str]:
        """Return all rows of scrollback and screen with their trailing blanks, as joined lines have them."""
        return await self._rows(pane, "-", "-", pad=True)

    async def text_before_cursor(self, pane: PaneId) -> str:
        """Return the text before the cursor on its row."""
        return (await self.cursor_line(pane)).text

    async def cursor_line(self, pane: PaneId) -> CursorLine:
        """Return the text before the cursor on its row, and what tmux tells of the screen."""
        ask = "#{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on}"
        (column, row, is_shown, is_alternate), rows = await self._capture_with_numbers(pane, ask)
        line = rows[row] if row < len(rows) else ""
        return CursorLine(line.ljust(column)[:column], bool(is_shown), bool(is_alternate))

    async def screen(self, pane: PaneId) -> CapturedScreen:
        """Return the whole screen, with colours and with the blanks at the ends of rows."""
        numbers, lines = await self._capture_with_numbers(pane, _SCREEN_NUMBERS, "-e", "-N")
        columns, rows, x, y, is_visible, is_alternate = numbers
        emoji = emoji_cells(await self._connection.server_version())
        cursor = (x, y) if is_visible else None
        return CapturedScreen(lines, columns, rows, cursor, emoji, (x, y), bool(is_alternate))

    async def _capture_with_numbers(self, pane: PaneId, ask: str, *flags: str) -> tuple[list[int], list[str]]:
        """Return numbers of a pane and the rows of its screen, both from the same moment."""
        try:
            reply = await self._connection.run(
                ("display-message", "-p", "-t", pane, ask),
                ("capture-pane", "-p", *flags, "-t", pane),
                repeatable=True,
            )
        except NotFound:
            raise NotFound("pane", pane) from None
        numbers = [int(number) for number in reply.first_line.split()]
        if len(numbers) != len(ask.split()):  # for a pane that is gone, tmux prints empty fields
            raise NotFound("pane", pane)
        decode = decode_screen_rows if "-e" in flags else decode_rows
        return numbers, write_blanks(decode(reply.blocks[1].lines))

    async def _rows(
        self,
        pane: PaneId,
        start: LineNumber,
        end: LineNumber,
        *,
        colors: bool = False,
        join: bool = False,
        pad: bool = False,
    ) -> list[str]:
        [rows] = await self._ranges(pane, [(start, end)], colors=colors, join=join, pad=pad)
        return rows

    async def _ranges(
        self,
        pane: PaneId,
        ranges: Sequence[tuple[LineNumber, LineNumber]],
        *,
        colors: bool,
        join: bool,
        pad: bool = False,
    ) -> list[list[str]]:
        """Return the rows of each range, all of one moment, with line drawing as a person sees it."""
        flags = [flag for flag, is_set in (("-J", join), ("-N", pad)) if is_set]
        asked = [
            (
                "capture-pane",
                "-p",
                *flags,
                "-S",
                _validate_number(first),
                "-E",
                _validate_number(last),
                "-t",
                pane,
            )
            for first, last in ranges
        ]
        try:
            if not colors:
                blocks = (await self._connection.run(*asked, repeatable=True)).blocks
                if not any(looks_drawn(block.lines) for block in blocks):
                    decoded = [decode_rows(block.lines) for block in blocks]
                    return [await self._clean(rows, join=join) for rows in decoded]
            reply = await self._connection.run(*((*one, "-e") for one in asked), repeatable=True)
        except NotFound:
            raise NotFound("pane", pane) from None
        decoded = [
            decode_styled_rows(block.lines, colors=colors, keeps_blanks=join or pad) for block in reply.blocks
        ]
        return [await self._clean(rows, join=join and not colors) for rows in decoded]

    async def _clean(self, rows: list[str], *, join: bool) -> list[str]:
        """Return rows with blanks for tabs, and without those that an older tmux adds to joined lines."""
        rows = write_blanks(rows)
        if not join or await self._connection.server_version() >= JOINED_LINES_HAVE_NO_FILLING:
            return rows
        return [row.rstrip(" ") for row in rows]


def strip_trailing_blank_rows(rows: list[str]) -> list[str]:
    """Return the rows without the blank ones below the text."""
    end = len(rows)
    while end and not SGR.sub("", rows[end - 1]).strip():
        end -= 1
    return rows[:end]


def keep_last(rows: list[str], lines: int, *, colors: bool) -> list[str]:
    """Return the last rows, at most `lines`, with the colours that were set above them."""
    if colors and len(rows) > lines:
        rows = [
            *rows[:-lines],
            _colours_at_end_of(rows[:-lines]) + rows[-lines],
            *rows[len(rows) - lines + 1 :],
        ]
    return rows[-lines:]


def _colours_at_end_of(rows: list[str]) -> str:
    """Return sequences that set the colours in force after these rows: tmux prints changes only."""
    state: dict[str, str] = {}
    for found in SGR.finditer("\n".join(rows)):
        first = re.split("[;:]", found[1])[0]
        if first in ("", "0"):
            state.clear()
        colour = _COLOUR.fullmatch(first)
        kind = colour.lastgroup if colour else None
        state[kind or found[0]] = found[0]
    return "".join(state.values())


def write_blanks(rows: list[str]) -> list[str]:
    """Return rows as they stand on the screen: since 3.6 tmux tells a tab as a tab, and not as blanks."""
    if "\t" not in "".join(rows):
        return rows
    return [_expand_tabs(row) if "\t" in row else row for row in rows]


def _expand_tabs(text: str) -> str:
    """Replace tabs by the blanks up to the next column that is a multiple of eight."""
    parts: list[str] = []
    column = 0
    for part in re.split(f"({SGR_SEQUENCE}|{LINK}|\t)", text):
        if part == "\t":
            part = " " * (_TAB_COLUMNS - column % _TAB_COLUMNS)
        if not part.startswith(ESC):
            column += sum(map(cell_width, part))
        parts.append(part)
    return "".join(parts)


def _validate_number(line: LineNumber) -> str:
    text = str(line)
    if text != "-" and not re.fullmatch(r"-?[0-9]{1,9}", text, re.ASCII):
        raise BadInput(
            f"{text!r} is not a line number.",
            "Use 0 for the top of the screen, -5 for five lines above it, or -.",
        )
    return text
