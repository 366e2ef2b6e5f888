"""What a pane shows now, as text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from muxpilot.errors import BadInput, NotFound
from muxpilot.tmux.connection import Connection
from muxpilot.tmux.ids import PaneId

Line = int | str  # tmux's line numbers: 0 is the top of the screen, -5 five above it, "-" the first or last

_SGR = re.compile(r"\x1b\[[0-9;:]*m")


@dataclass(frozen=True, slots=True)
class Shown:
    """A screen as tmux tells it; the cursor's column and row, if it shows."""

    lines: list[str]
    columns: int
    rows: int
    cursor: tuple[int, int] | None


class Capture:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def last(
        self, pane: PaneId, lines: int = 200, *, colors: bool = False, join: bool = False
    ) -> list[str]:
        """At most `lines` lines, the last ones; blank rows below the text do not count."""
        if lines < 1:
            raise BadInput(f"The number of lines {lines} is out of range.", "Use 1 or more.")
        rows = await self._rows(pane, -lines, "-", colors=colors, join=join)
        while rows and not _SGR.sub("", rows[-1]).strip():
            rows.pop()
        return rows[-lines:]

    async def between(
        self, pane: PaneId, start: Line | None, end: Line | None, *, colors: bool = False, join: bool = False
    ) -> list[str]:
        """The rows from `start` to `end` by tmux's numbers, both included."""
        return await self._rows(
            pane, 0 if start is None else start, "-" if end is None else end, colors=colors, join=join
        )

    async def cursor_line(self, pane: PaneId) -> str:
        """What stands before the cursor on its row."""
        ask = ("display-message", "-p", "-t", pane, "#{cursor_x} #{cursor_y}")
        place = (await self._connection.run(ask, repeatable=True)).first_line.split()
        if len(place) != 2:  # tmux answers for a pane that is not there, with nothing
            raise NotFound("pane", pane)
        column, row = map(int, place)
        [line] = await self.between(pane, row, row) or [""]
        return line.ljust(column)[:column]

    async def screen(self, pane: PaneId) -> Shown:
        """The whole screen, row by row, with colours and the blanks at the ends of rows."""
        ask = "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag}"
        try:
            reply = await self._connection.run(
                ("display-message", "-p", "-t", pane, ask),
                ("capture-pane", "-p", "-e", "-N", "-t", pane),
                repeatable=True,
            )
        except NotFound:
            raise NotFound("pane", pane) from None
        numbers = reply.first_line.split()
        if len(numbers) != 5:  # tmux answers for a pane that is not there, with nothing
            raise NotFound("pane", pane)
        columns, rows, x, y, is_visible = map(int, numbers)
        lines = [row.decode("utf-8", "replace") for row in reply.blocks[1].lines]
        return Shown(lines, columns, rows, (x, y) if is_visible else None)

    async def _rows(self, pane: PaneId, start: Line, end: Line, *, colors: bool, join: bool) -> list[str]:
        flags = (*(("-e",) if colors else ()), *(("-J",) if join else ()))
        limits = ("-S", _number(start), "-E", _number(end))
        try:
            reply = await self._connection.run(
                ("capture-pane", "-p", *flags, *limits, "-t", pane), repeatable=True
            )
        except NotFound:
            raise NotFound("pane", pane) from None
        return [row.decode("utf-8", "replace") for row in reply.blocks[0].lines]


def _number(line: Line) -> str:
    text = str(line)
    if text != "-" and not re.fullmatch(r"-?[0-9]{1,9}", text, re.ASCII):
        raise BadInput(
            f"{text!r} is not a line number.", "Use 0 for the top of the screen, -5 for five above, or -."
        )
    return text
