"""Characters that go into the cell of the character before them: accents, joiners, parts of an emoji.

tmux 3.4 changed which characters these are, and later versions how wide the cell is then. `shape.emoji` says
what the tmux does whose screen this is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muxpilot.terminal.line_drawing import DRAWN_CHARS
from muxpilot.terminal.rows import BLANK, TAB, Row
from muxpilot.terminal.width import (
    AS_EMOJI,
    JOINER,
    EmojiCells,
    cell_width,
    joins_wide_cell,
    width_of_cell,
)

if TYPE_CHECKING:  # a screen imports this module
    from muxpilot.terminal.screen import Screen


def join_char(screen: Screen, char: str) -> bool:
    """Add a character to the cell before the cursor, if it belongs there. Return False if it has its own."""
    return _join(screen, char) if screen.shape.emoji else _combine(screen, char)


def use_cell_before(screen: Screen) -> None:
    """Take the cell before the cursor into use: tmux 3.4 and newer keep C1 characters there, unseen."""
    if screen.shape.emoji and screen.x > 0:
        row, column = _find_cell_before(screen)
        if width_of_cell(_cell_at(row, column), screen.shape.emoji) == screen.x - column:
            row.combine(column, "", screen.style)


def _combine(screen: Screen, char: str) -> bool:
    """Add a character of no width to the cell before, as tmux 3.3 does."""
    if char == JOINER:
        screen.is_joiner_pending = True
        return True
    is_joined, screen.is_joiner_pending = screen.is_joiner_pending, False
    if not is_joined and cell_width(char, emoji=EmojiCells.SEPARATE) > 0:
        return False
    if screen.x > 0:
        row, column = _find_cell_before(screen)
        if is_joined:
            _add_to_cell(screen, row, column, JOINER)
        _add_to_cell(screen, row, column, char)
    return True


def _join(screen: Screen, char: str) -> bool:
    """Add a character to the cell before it, as tmux 3.4 and newer do."""
    emoji = screen.shape.emoji
    has_no_width = char in (JOINER, AS_EMOJI) or cell_width(char, emoji=emoji) == 0
    if screen.x == 0:
        return has_no_width
    row, column = _find_cell_before(screen)
    cell = _cell_at(row, column)
    width = screen.x - column
    if width_of_cell(cell, emoji) != width and not cell.startswith(TAB):  # the cursor moved
        return has_no_width
    # To tmux a drawn line is a letter, and one that is printed as a character is not. We cannot tell.
    is_part = cell not in DRAWN_CHARS and joins_wide_cell(char, cell, emoji)
    is_wanted = has_no_width or is_part or cell.endswith(JOINER)
    if not is_wanted or not _add_to_cell(screen, row, column, char):
        return False
    if width == 1 and (char == AS_EMOJI or is_part):
        _widen(screen, row, column)
    return True


def _widen(screen: Screen, row: Row, column: int) -> None:
    """Give the cell before the cursor a second column."""
    if screen.x < screen.columns:
        row.widen(column, screen.style)
        screen.x += 1
    elif screen.shape.emoji is not EmojiCells.PAIRED:  # tmux moves the cursor back onto the cell
        screen.x = screen.columns - 1


def _find_cell_before(screen: Screen) -> tuple[Row, int]:
    """Return the cursor's row, and the column where the character before the cursor begins."""
    return screen.row(screen.y), screen.find_start(screen.x - 1)


def _cell_at(row: Row, column: int) -> str:
    return row.cells[column] if column < len(row.cells) else BLANK


def _add_to_cell(screen: Screen, row: Row, column: int, char: str) -> bool:
    """Add a character to a cell, if tmux has room for it."""
    if len(_cell_at(row, column).encode()) + len(char.encode()) > screen.longest_cell:
        return False
    row.combine(column, char, screen.style)
    return True
