"""Erase, insert and delete cells and rows of a screen, as `screen-write.c` and `grid-view.c` of tmux do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muxpilot.terminal.style import get_parameter

if TYPE_CHECKING:  # a screen imports this module
    from muxpilot.terminal.screen import Screen

Parameters = Sequence[int | str | None]


def erase_line(screen: Screen) -> None:
    """Erase the cursor's row."""
    row, style = screen.row(screen.y), screen.style
    if row.extent or (style is not None and style.bg is not None):
        screen.clear_row(screen.y)


def erase_cells(screen: Screen, first: int, end: int) -> None:
    """Erase columns of the cursor's row."""
    end = min(end, screen.columns)
    if first == 0 and end == screen.columns:
        screen.clear_row(screen.y)
    elif first < end:
        screen.row(screen.y).erase(first, end, screen.style)


def erase_in_line(screen: Screen, numbers: Parameters) -> None:
    """Erase a part of the cursor's row, or all of it (EL)."""
    what = get_parameter(numbers, 0, least=0, default=0)
    if what == 2 or (what == 0 and screen.x == 0) or (what == 1 and screen.x >= screen.columns - 1):
        erase_line(screen)
    elif what == 0:
        erase_cells(screen, screen.x, screen.columns)
    elif what == 1:
        erase_cells(screen, 0, screen.x + 1)


def erase_in_screen(screen: Screen, numbers: Parameters) -> None:
    """Erase a part of the screen, or all of it (ED)."""
    what = get_parameter(numbers, 0, least=0, default=0)
    if what == 0:
        if screen.erases_all_from_cursor and not screen.is_alternate:
            screen.clear_into_history(screen.style)
        else:
            erase_cells(screen, screen.x, screen.columns)
            screen.clear_rows(screen.y + 1, screen.height, screen.style)
    elif what == 1:
        screen.clear_rows(0, screen.y, screen.style)
        erase_cells(screen, 0, screen.x + 1)
    elif what == 2:
        erase_screen(screen)
    elif what == 3 and get_parameter(numbers, 1, least=0, default=0) == 0:
        screen.clear_history()


def erase_screen(screen: Screen) -> None:
    """Erase the screen; the rows of the normal one go into the scrollback."""
    if screen.is_alternate:
        screen.clear_rows(0, screen.height, screen.style)
    else:
        screen.clear_into_history(screen.style)


def insert_cells(screen: Screen, count: int) -> None:
    """Insert blank cells at the cursor (ICH)."""
    if screen.x >= screen.columns - 1:
        screen.row(screen.y).erase(screen.x, screen.x + 1, screen.style)
    else:
        screen.row(screen.y).insert(screen.x, count, screen.columns, screen.style)


def delete_cells(screen: Screen, count: int) -> None:
    """Delete cells at the cursor (DCH)."""
    if count == screen.columns - screen.x:
        erase_cells(screen, screen.x, screen.columns)
        return
    screen.row(screen.y).delete(screen.x, count, screen.columns, screen.style)


def insert_rows(screen: Screen, count: int) -> None:
    """Insert blank rows at the cursor (IL)."""
    y, style = screen.y, screen.style
    if screen.top <= y <= screen.bottom:
        count = min(count, screen.bottom + 1 - y)
        moved = screen.bottom + 1 - y - count
        screen.move_rows(y + count, y, moved, style)
        _clear_after_move(screen, y + moved, count - moved)
    else:
        count = min(count, screen.height - y)
        screen.move_rows(y + count, y, screen.height - y - count, style)


def delete_rows(screen: Screen, count: int) -> None:
    """Delete rows at the cursor (DL)."""
    y = screen.y
    end = screen.bottom + 1 if screen.top <= y <= screen.bottom else screen.height
    count = min(count, end - y)
    moved = end - y - count
    screen.move_rows(y, y + count, moved, screen.style)
    _clear_after_move(screen, y + moved, count - moved)


def _clear_after_move(screen: Screen, first: int, count: int) -> None:
    """Clear rows. tmux ends the wrapping of the row before also where its count is below zero."""
    if count > 0:
        screen.clear_rows(first, first + count, screen.style)
    elif count < 0:
        screen.end_wrapping(first)
