"""The text of a screen of cells: its rows, those that differ from an earlier screen, what is highlighted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from muxpilot.terminal.escapes import ROW_ADDRESS_BYTES

if TYPE_CHECKING:  # a server imports this module at its start, and cells with the first screen
    from muxpilot.terminal.cells import CellGrid, Colour, ScreenCell

    Row = Sequence[ScreenCell]

# A highlighted bar is at most so many rows high. A higher area is the background of a box or a theme.
_HIGHEST_BAR = 2
_MOST_HIGHLIGHTED, _LONGEST_HIGHLIGHTED = 20, 200

_ROW_ADDRESS = re.compile(ROW_ADDRESS_BYTES)


class Span(NamedTuple):
    """A range of rows or columns, both ends included; they count from 0."""

    first: int
    last: int


def draws_rows(output: bytes) -> bool:
    """Return whether a program draws on the whole screen. Some, such as dialog, use the normal screen."""
    return _ROW_ADDRESS.search(output) is not None


def row_text(row: Row, columns: Span | None = None) -> str:
    """Return the text of a row, or of some of its columns, without the blanks at its end.

    A wide character counts if its first column is inside.
    """
    if columns is None:
        return "".join(cell.text for cell in row).rstrip()
    kept, column = [], 0
    for cell in row:
        if columns.first <= column <= columns.last:
            kept.append(cell.text)
        column += cell.width
    return "".join(kept).rstrip()


def changed_rows(before: CellGrid | None, after: CellGrid) -> dict[int, str]:
    """Return the rows that differ in text or style, by number; without a screen before, all with text."""
    if before is None:
        texts = {number: row_text(row) for number, row in enumerate(after.rows)}
        return {number: text for number, text in texts.items() if text}
    return {
        number: row_text(row)
        for number, row in enumerate(after.rows)
        if number >= len(before.rows) or list(before.rows[number]) != list(row)
    }


def find_highlighted(grid: CellGrid, rows: Span | None = None, columns: Span | None = None) -> list[str]:
    """Return the texts in reverse video, or with a background that is not the one above and below them."""
    backgrounds = [_backgrounds(row) for row in grid.rows]
    all_rows = range(len(grid.rows))
    wanted_rows = all_rows if rows is None else all_rows[rows.first : rows.last + 1]
    found = [
        text[:_LONGEST_HIGHLIGHTED]
        for number in wanted_rows
        for text in _highlighted_in(grid.rows[number], backgrounds, number, columns)
    ]
    return found[:_MOST_HIGHLIGHTED]


def _highlighted_in(
    row: Row, backgrounds: Sequence[Sequence[Colour]], number: int, columns: Span | None
) -> list[str]:
    """Return the highlighted texts of a row. Neighbours with the same highlight are one text."""
    texts: list[str] = []
    highlight_before: object = None
    column = 0
    for cell in row:
        is_inside = columns is None or columns.first <= column <= columns.last
        highlight = _highlight_of(cell, backgrounds, number, column) if is_inside else None
        if highlight is not None:
            if highlight != highlight_before:
                texts.append("")
            texts[-1] += cell.text
        highlight_before = highlight
        column += cell.width
    return [text.strip() for text in texts if text.strip()]


def _highlight_of(
    cell: ScreenCell, backgrounds: Sequence[Sequence[Colour]], number: int, column: int
) -> tuple[bool, Colour] | None:
    """Return what sets a cell apart from those around it, or None: is it reverse video, and its colour."""
    style = cell.style
    if style.reverse:
        return True, style.fg
    if style.bg is None or _is_high(backgrounds, number, column):
        return None
    return False, style.bg


def _is_high(backgrounds: Sequence[Sequence[Colour]], number: int, column: int) -> bool:
    """Return whether a background is part of an area that is higher than a bar."""
    colour = backgrounds[number][column]
    height = 1
    for step in (-1, 1):
        at = number + step
        while 0 <= at < len(backgrounds) and height <= _HIGHEST_BAR and backgrounds[at][column] == colour:
            height += 1
            at += step
    return height > _HIGHEST_BAR


def _backgrounds(row: Row) -> list[Colour]:
    """Return the background of each column; reverse video has none of its own."""
    return [cell.style.bg for cell in row for _ in range(cell.width)]
