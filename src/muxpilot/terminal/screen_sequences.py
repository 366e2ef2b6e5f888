"""What control characters and sequences do to a screen: tables from a sequence's name to a function.

The functions follow `input.c`, `screen-write.c` and `grid-view.c` of tmux. What is not in the tables changes
nothing on the screen: tmux does not know it either, or it concerns titles, keys, reports and the mouse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from muxpilot.terminal.escapes import ALTERNATE_MODES
from muxpilot.terminal.joined_chars import use_cell_before
from muxpilot.terminal.line_drawing import SET_CHOICES, SHIFTS
from muxpilot.terminal.pen import Pen, SavedCursor
from muxpilot.terminal.screen_edits import (
    delete_cells,
    delete_rows,
    erase_cells,
    erase_in_line,
    erase_in_screen,
    erase_screen,
    insert_cells,
    insert_rows,
)
from muxpilot.terminal.style import PLAIN, apply_sgr, get_parameter, parse_numbers
from muxpilot.terminal.tokens import Token, TokenKind

if TYPE_CHECKING:  # a screen imports this module
    from muxpilot.terminal.screen import Screen

Parameters = Sequence[int | str | None]
_CONTROL, _TEXT, _CSI, _ESCAPE = TokenKind.CONTROL, TokenKind.TEXT, TokenKind.CSI, TokenKind.ESCAPE
# tmux knows these, too, and forgets what REP repeats; they draw nothing.
_SILENT_SEQUENCES = frozenset(("c", ">c", ">m", "n", ">n", " q", ">q", "t"))
_FIRST_C1 = "\x80"
_SILENT_ESCAPES = frozenset(("=", ">", "\\", *"]P_^Xk"))


def apply_token(screen: Screen, token: Token) -> None:
    """Draw one token."""
    kind, name, parameters = token
    if kind is _TEXT:
        screen.print(name)
    elif kind is _CSI:
        apply_csi(screen, name, parameters)
    elif kind is _CONTROL:
        if name != "\x7f":
            screen.last_char = ""
        if (act := CONTROLS.get(name)) is not None:
            act(screen)
        elif name >= _FIRST_C1:
            use_cell_before(screen)
    elif kind is _ESCAPE:
        _apply_escape(screen, name)
    else:
        screen.print_lines(name)


def _apply_escape(screen: Screen, name: str) -> None:
    act = ESCAPES.get(name)
    if act is not None or name in _SILENT_ESCAPES:
        screen.last_char = ""
    if act is not None:
        act(screen)


def apply_csi(screen: Screen, name: str, parameters: str) -> None:
    """Apply a control sequence."""
    if name == "m":
        screen.last_char = ""
        if screen.has_styles:
            screen.pen.style = apply_sgr(screen.pen.style, parameters)
        return
    act = SEQUENCES.get(name)
    if act is None and name not in _SILENT_SEQUENCES:
        return
    numbers = parse_numbers(parameters)
    if numbers is not None:
        if act is not None:
            act(screen, numbers)
        screen.last_char = ""


def _count(numbers: Parameters) -> int | None:
    return get_parameter(numbers, 0, least=1, default=1)


def _with_count(act: Callable[[Screen, int], None]) -> Callable[[Screen, Parameters], None]:
    """Make a function of a count out of one that gets all parameters."""

    def apply(screen: Screen, numbers: Parameters) -> None:
        """Apply it, unless tmux cannot read the count."""
        if (count := _count(numbers)) is not None:
            act(screen, count)

    return apply


# Cursor


def move_up(screen: Screen, count: int) -> None:
    """Move the cursor up, at most to the top of its region."""
    limit = screen.y if screen.y < screen.top else screen.y - screen.top
    screen.x = min(screen.x, screen.columns - 1)
    screen.y -= min(count, limit)


def move_down(screen: Screen, count: int) -> None:
    """Move the cursor down, at most to the end of its region."""
    limit = (screen.height - 1 if screen.y > screen.bottom else screen.bottom) - screen.y
    screen.x = min(screen.x, screen.columns - 1)
    screen.y += min(count, limit)
    screen.row(screen.y)


def move_right(screen: Screen, count: int) -> None:
    """Move the cursor right."""
    screen.x = min(screen.x + count, screen.columns - 1)


def move_left(screen: Screen, count: int) -> None:
    """Move the cursor left."""
    screen.x -= min(count, screen.x)


def move_to(screen: Screen, x: int | None, y: int | None, *, has_origin: bool = True) -> None:
    """Move the cursor; in origin mode rows count from the top of the scroll region."""
    if y is not None:
        if has_origin and screen.is_origin:
            y = screen.bottom if y > screen.bottom - screen.top else y + screen.top
        screen.y = min(y, screen.height - 1)
        screen.row(screen.y)
    if x is not None:
        screen.x = min(x, screen.columns - 1)


def _next_line(screen: Screen, count: int) -> None:
    screen.x = 0
    move_down(screen, count)


def _previous_line(screen: Screen, count: int) -> None:
    screen.x = 0
    move_up(screen, count)


def _place(screen: Screen, numbers: Parameters) -> None:
    row, column = _count(numbers), get_parameter(numbers, 1, least=1, default=1)
    if row is not None and column is not None:
        move_to(screen, column - 1, row - 1)
        screen.note_placed()


def save_cursor(screen: Screen) -> None:
    """Save the cursor and the look of characters (DECSC)."""
    screen.saved = SavedCursor(screen.x, screen.y, screen.pen.copy(), screen.is_origin)


def restore_cursor(screen: Screen) -> None:
    """Restore what was saved (DECRC)."""
    screen.pen, screen.is_origin = screen.saved.pen.copy(), screen.saved.is_origin
    move_to(screen, screen.saved.x, screen.saved.y, has_origin=False)


def _back_tab(screen: Screen, count: int) -> None:
    screen.x = min(screen.x, screen.columns - 1)
    while screen.x > 0 and count > 0:
        screen.x -= 1
        while screen.x > 0 and not screen.is_tab_stop(screen.x):
            screen.x -= 1
        count -= 1


# Rows and columns


def _within_row(act: Callable[[Screen, int], None]) -> Callable[[Screen, Parameters], None]:
    """Limit a count to the columns that are left; behind the last column nothing happens."""

    def apply(screen: Screen, count: int) -> None:
        """Apply it inside of the row."""
        if screen.x < screen.columns:
            act(screen, min(count, screen.columns - screen.x))

    return _with_count(apply)


def _scroll(act: Callable[[Screen, int], None]) -> Callable[[Screen, Parameters], None]:
    """Limit a count to the height of the scroll region."""
    return _with_count(lambda screen, count: act(screen, min(count, screen.bottom - screen.top + 1)))


def _set_scroll_region(screen: Screen, numbers: Parameters) -> None:
    top, bottom = _count(numbers), get_parameter(numbers, 1, least=1, default=screen.height)
    if top is None or bottom is None:
        return
    top, bottom = min(top, screen.height) - 1, min(bottom, screen.height) - 1
    if top < bottom:
        screen.x = screen.y = 0
        screen.top, screen.bottom = top, bottom


def _repeat(screen: Screen, numbers: Parameters) -> None:
    count = _count(numbers)
    if count is not None and screen.last_char and screen.x < screen.columns:
        screen.print(screen.last_char * min(count, screen.columns - screen.x))


def _clear_tabs(screen: Screen, numbers: Parameters) -> None:
    what = get_parameter(numbers, 0, least=0, default=0)
    if what == 0 and screen.x < screen.columns:
        screen.tabs = screen.tab_stops - {screen.x}
    elif what == 3:
        screen.tabs = frozenset()


# Modes


def _set_mode(screen: Screen, numbers: Parameters) -> None:
    if 4 in numbers:
        screen.inserts = True


def _reset_mode(screen: Screen, numbers: Parameters) -> None:
    if 4 in numbers:
        screen.inserts = False


def _set_private_modes(screen: Screen, numbers: Parameters) -> None:
    for number in numbers:
        _switch_private_mode(screen, number, is_on=True)


def _reset_private_modes(screen: Screen, numbers: Parameters) -> None:
    for number in numbers:
        _switch_private_mode(screen, number, is_on=False)


def _switch_private_mode(screen: Screen, number: int | str | None, *, is_on: bool) -> None:
    if number == 3:  # another number of columns: tmux only clears the screen
        move_to(screen, 0, 0)
        erase_screen(screen)
    elif number == 6:
        screen.is_origin = is_on
        move_to(screen, 0, 0)
    elif number == 7:
        screen.wraps = is_on
    elif number == 25:
        screen.is_cursor_visible = is_on
    elif str(number) in ALTERNATE_MODES:
        switch = screen.enter_alternate if is_on else screen.leave_alternate
        switch(with_cursor=number == 1049)


# Controls and escapes


def feed_line(screen: Screen) -> None:
    """Move down a row, or scroll."""
    screen.feed_line(screen.style)


def next_line(screen: Screen) -> None:
    """Move to the beginning of the next row, or scroll."""
    screen.x = 0
    screen.feed_line(screen.style)


def _return(screen: Screen) -> None:
    screen.x = 0


def _backspace(screen: Screen) -> None:
    """Move left, and from the first column to the end of the row before, if that continues here."""
    if screen.x > 0:
        screen.x -= 1
    elif screen.y > 0 and screen.row(screen.y - 1).is_wrapped:
        screen.x, screen.y = screen.columns - 1, screen.y - 1


def _reverse_index(screen: Screen) -> None:
    if screen.y == screen.top:
        screen.scroll_down(1, screen.style)
    elif screen.y > 0:
        screen.y -= 1


def _set_tab(screen: Screen) -> None:
    if screen.x < screen.columns:
        screen.tabs = screen.tab_stops | {screen.x}


def reset(screen: Screen) -> None:
    """Reset everything, as RIS does. The rows of the normal screen go into the scrollback.

    tmux keeps the origin mode that was saved with the cursor.
    """
    screen.pen, screen.saved = Pen(), SavedCursor(is_origin=screen.saved.is_origin)
    screen.reset_modes()
    erase_screen(screen)
    screen.x = screen.y = 0


def _fill_with_e(screen: Screen) -> None:
    """Fill the screen for DEC's alignment test."""
    for y in range(screen.height):
        screen.row(y).put(0, ["E"] * screen.columns, PLAIN if screen.has_styles else None)
    screen.x = screen.y = 0
    screen.top, screen.bottom = 0, screen.height - 1


def _choose_set(which: int, *, draws: bool) -> Callable[[Screen], None]:
    """Return a function that makes G0 or G1 the line drawing set, or text."""

    def choose(screen: Screen) -> None:
        """Set it."""
        screen.pen.draws[which] = draws

    return choose


def _shift(which: int) -> Callable[[Screen], None]:
    """Return a function that puts G0 or G1 into use."""

    def shift(screen: Screen) -> None:
        """Use it."""
        screen.pen.shift = which

    return shift


CONTROLS: dict[str, Callable[[Screen], None]] = {
    "\b": _backspace,
    "\t": lambda screen: screen.tab(),
    "\n": feed_line,
    "\x0b": feed_line,
    "\x0c": feed_line,
    "\r": _return,
    **{char: _shift(which) for char, which in SHIFTS.items()},
}
ESCAPES: dict[str, Callable[[Screen], None]] = {
    **{name: _choose_set(which, draws=draws) for name, (which, draws) in SET_CHOICES.items()},
    "7": save_cursor,
    "8": restore_cursor,
    "#8": _fill_with_e,
    "D": feed_line,
    "E": next_line,
    "H": _set_tab,
    "M": _reverse_index,
    "c": reset,
}
SEQUENCES: dict[str, Callable[[Screen, Parameters], None]] = {
    "@": _within_row(insert_cells),
    "A": _with_count(move_up),
    "B": _with_count(move_down),
    "C": _with_count(move_right),
    "D": _with_count(move_left),
    "E": _with_count(_next_line),
    "F": _with_count(_previous_line),
    "G": _with_count(lambda screen, column: move_to(screen, column - 1, None)),
    "H": _place,
    "J": erase_in_screen,
    "K": erase_in_line,
    "L": _with_count(insert_rows),
    "M": _with_count(delete_rows),
    "P": _within_row(delete_cells),
    "S": _scroll(lambda screen, count: screen.scroll_up(count, screen.style)),
    "T": _scroll(lambda screen, count: screen.scroll_down(count, screen.style)),
    "X": _within_row(lambda screen, count: erase_cells(screen, screen.x, screen.x + count)),
    "Z": _with_count(_back_tab),
    "`": _with_count(lambda screen, column: move_to(screen, column - 1, None)),
    "b": _repeat,
    "d": _with_count(lambda screen, row: move_to(screen, None, row - 1)),
    "f": _place,
    "g": _clear_tabs,
    "h": _set_mode,
    "?h": _set_private_modes,
    "l": _reset_mode,
    "?l": _reset_private_modes,
    "r": _set_scroll_region,
    "s": lambda screen, _: save_cursor(screen),
    "u": lambda screen, _: restore_cursor(screen),
}
