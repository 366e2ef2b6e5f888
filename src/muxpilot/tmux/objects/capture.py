"""What a pane shows now, as text."""

from __future__ import annotations

import re

from muxpilot.errors import BadInput, NotFound
from muxpilot.records import record
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.version import EMOJI_ARE_JOINED

Line = int | str  # tmux's line numbers: 0 is the top of the screen, -5 five above it, "-" the first or last

_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
# What each of tmux's sequences for colours sets, by its first number; the others set attributes.
_COLOUR = re.compile(r"(?P<front>3[0-9]|9[0-7])|(?P<ground>4[0-9]|10[0-7])|(?P<underline>5[89])")


@record
class Shown:
    """A screen as tmux tells it; the cursor's column and row, if it shows."""

    lines: list[str]
    columns: int
    rows: int
    cursor: tuple[int, int] | None
    is_joined: bool = True  # whether this tmux has an emoji of several characters in one cell


class Capture:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def last(
        self, pane: PaneId, lines: int = 200, *, colors: bool = False, join: bool = False
    ) -> list[str]:
        """At most `lines` lines, the last ones; blank rows below the text do not count."""
        if lines < 1:
            raise BadInput(f"The number of lines {lines} is out of range.", "Use 1 or more.")
        for start in (-lines, -lines * 10, "-"):
            rows = without_blank_end(await self._rows(pane, start, "-", colors=colors, join=join))
            if not join or len(rows) > lines:  # fewer joined ones may lack the beginning of the first
                break
        if colors and len(rows) > lines:
            rows[-lines] = _colours_after(rows[:-lines]) + rows[-lines]
        return rows[-lines:]

    async def between(
        self, pane: PaneId, start: Line | None, end: Line | None, *, colors: bool = False, join: bool = False
    ) -> list[str]:
        """The rows from `start` to `end` by tmux's numbers, both included."""
        return await self._rows(
            pane, 0 if start is None else start, "-" if end is None else end, colors=colors, join=join
        )

    async def padded(self, pane: PaneId) -> list[str]:
        """All rows of scrollback and screen, with the blanks at their ends, as joined lines have them."""
        return await self._rows(pane, "-", "-", pad=True)

    async def cursor_line(self, pane: PaneId) -> str:
        """What stands before the cursor on its row."""
        (column, row), rows = await self._looked(pane, "#{cursor_x} #{cursor_y}")
        line = rows[row] if row < len(rows) else ""
        return line.ljust(column)[:column]

    async def screen(self, pane: PaneId) -> Shown:
        """The whole screen, row by row, with colours and the blanks at the ends of rows."""
        ask = "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag}"
        (columns, rows, x, y, is_visible), lines = await self._looked(pane, ask, "-e", "-N")
        is_joined = await self._connection.server_version() >= EMOJI_ARE_JOINED
        return Shown(lines, columns, rows, (x, y) if is_visible else None, is_joined)

    async def _looked(self, pane: PaneId, ask: str, *flags: str) -> tuple[list[int], list[str]]:
        """Numbers of a pane and the rows of its screen, of one moment."""
        try:
            reply = await self._connection.run(
                ("display-message", "-p", "-t", pane, ask),
                ("capture-pane", "-p", *flags, "-t", pane),
                repeatable=True,
            )
        except NotFound:
            raise NotFound("pane", pane) from None
        numbers = [int(number) for number in reply.first_line.split()]
        if len(numbers) != len(ask.split()):  # tmux answers for a pane that is not there, with nothing
            raise NotFound("pane", pane)
        return numbers, [row.decode("utf-8", "replace") for row in reply.blocks[1].lines]

    async def _rows(
        self,
        pane: PaneId,
        start: Line,
        end: Line,
        *,
        colors: bool = False,
        join: bool = False,
        pad: bool = False,
    ) -> list[str]:
        flags = [flag for flag, is_set in (("-e", colors), ("-J", join), ("-N", pad)) if is_set]
        limits = ("-S", _number(start), "-E", _number(end))
        try:
            reply = await self._connection.run(
                ("capture-pane", "-p", *flags, *limits, "-t", pane), repeatable=True
            )
        except NotFound:
            raise NotFound("pane", pane) from None
        return [row.decode("utf-8", "replace") for row in reply.blocks[0].lines]


def without_blank_end(rows: list[str]) -> list[str]:
    """Without the blank rows below the text."""
    end = len(rows)
    while end and not _SGR.sub("", rows[end - 1]).strip():
        end -= 1
    return rows[:end]


def _colours_after(rows: list[str]) -> str:
    """The sequences that set what is in force behind these rows: tmux tells changes only."""
    state: dict[str, str] = {}
    for found in _SGR.finditer("\n".join(rows)):
        first = re.split("[;:]", found[1])[0]
        if first in ("", "0"):
            state.clear()
        colour = _COLOUR.fullmatch(first)
        kind = colour.lastgroup if colour else None
        state[kind or found[0]] = found[0]
    return "".join(state.values())


def _number(line: Line) -> str:
    text = str(line)
    if text != "-" and not re.fullmatch(r"-?[0-9]{1,9}", text, re.ASCII):
        raise BadInput(
            f"{text!r} is not a line number.", "Use 0 for the top of the screen, -5 for five above, or -."
        )
    return text
