"""Parse the output of `capture-pane -e` into cells: each has its text, its width and its style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muxpilot.terminal.rows import CONTINUED, Row
from muxpilot.terminal.screen import Screen
from muxpilot.terminal.shape import WIDEST, ScreenShape
from muxpilot.terminal.style import PLAIN, CellStyle, Colour, apply_sgr
from muxpilot.terminal.width import EmojiCells

__all__ = [
    "BLANK",
    "PLAIN",
    "CellGrid",
    "CellStyle",
    "Colour",
    "ScreenCell",
    "apply_sgr",
    "fill_cells",
    "parse_screen",
]


@dataclass(frozen=True, slots=True)
class ScreenCell:
    """One character with the combining marks on it; a wide one takes two columns."""

    text: str = " "
    width: int = 1
    style: CellStyle = PLAIN


BLANK = ScreenCell()
_BLOCK = ScreenCell("█")


@dataclass(frozen=True, slots=True)
class CellGrid:
    """A screen as rows of cells, all as wide as the pane; `cursor` is its column and row, None if hidden."""

    rows: Sequence[Sequence[ScreenCell]]
    columns: int
    cursor: tuple[int, int] | None = None


def parse_screen(
    lines: Sequence[str],
    columns: int,
    rows: int,
    cursor: tuple[int, int] | None = None,
    *,
    emoji: EmojiCells = EmojiCells.PAIRED,
) -> CellGrid:
    """Parse the lines of a capture. In tmux's output a style continues on the next line.

    `emoji` is how the tmux that made the capture puts emoji into cells.
    """
    screen = Screen(ScreenShape(WIDEST, max(rows, 1), emoji), has_styles=True)
    screen.longest_cell = WIDEST
    screen.pen.draws[1] = True  # a capture has SO and SI around line drawing, without the choice of the set
    for y, line in enumerate(lines[:rows]):
        screen.x, screen.y = 0, y
        screen.write(line)
    return CellGrid([read_cells(screen.row(y), columns) for y in range(rows)], columns, cursor)


def fill_cells(screen: CellGrid, mask: str) -> CellGrid:
    """Return the screen with a plain block in each cell that holds `mask`, whatever its style was."""
    rows = [[_BLOCK if cell.text == mask else cell for cell in row] for row in screen.rows]
    return replace(screen, rows=rows)


def read_cells(row: Row, columns: int) -> list[ScreenCell]:
    """Return the cells of a row of a screen with styles, filled with blanks."""
    cells: list[ScreenCell] = []
    column = 0
    while column < min(len(row.cells), columns):
        end = column + 1
        while end < len(row.cells) and row.cells[end] == CONTINUED:
            end += 1
        if end > columns:
            break
        cells.append(ScreenCell(row.cells[column], end - column, row.styles[column]))
        column = end
    return cells + [BLANK] * (columns - column)
