"""The screen of a terminal as tmux draws it: rows of cells, a cursor, modes, a scrollback without end.

`Screen.write` draws the text that a program prints. `terminal/screen_sequences.py` has the tables of what
the sequences do. `./dev proof terminal` compares this model with a real tmux.
"""

from __future__ import annotations

from muxpilot.terminal.escapes import SGR
from muxpilot.terminal.joined_chars import join_char
from muxpilot.terminal.line_drawing import LINE_DRAWING
from muxpilot.terminal.pen import Pen, SavedCursor
from muxpilot.terminal.rows import BLANK, CONTINUED, TAB, Row
from muxpilot.terminal.screen_sequences import apply_token
from muxpilot.terminal.shape import ScreenShape
from muxpilot.terminal.style import PLAIN, CellStyle
from muxpilot.terminal.tokens import Tokenizer
from muxpilot.terminal.width import EmojiCells, cell_width, width_of_cell

_TAB = 8
# tmux keeps at most so many bytes in a cell; since 3.6 more.
_LONGEST_CELL, _LONGEST_NEW_CELL = 21, 32


class Screen:
    """Draws text on rows. `y` counts from the top row, `x` is `columns` where the next character wraps."""

    def __init__(self, shape: ScreenShape, *, has_styles: bool = False) -> None:
        self.shape = shape
        self.columns, self.height = shape.columns, shape.rows
        self.has_styles = has_styles
        self._is_older = shape.emoji < EmojiCells.MATCHED  # than 3.6
        self.longest_cell = _LONGEST_CELL if self._is_older else _LONGEST_NEW_CELL
        self.rows: list[Row] = [Row()]  # of the screen; those that are missing are blank
        self.history: list[Row] = []
        self.x: int = 0
        self.y: int = 0
        self.pen = Pen()
        self.saved = SavedCursor()
        self.main_rows: list[Row] | None = None  # the normal screen, while a program has the alternate one
        self.main_y = 0
        self.main_cursor: tuple[int, int] | None = None  # saved by mode 1049
        self._main_style = PLAIN
        self.last_char = ""  # what REP repeats
        self.is_cursor_visible = True
        self.is_joiner_pending = False  # a joiner came last, and joins what comes next (tmux 3.3)
        self._tokens = Tokenizer(has_lines=not has_styles)
        self.reset_modes()

    def reset_modes(self) -> None:
        """Reset tab stops, scroll region and modes."""
        self.tabs: frozenset[int] | None = None  # None is every eighth column
        self.top, self.bottom = 0, self.height - 1
        self.wraps, self.inserts, self.is_origin = True, False, False
        self.is_cursor_visible = True

    @property
    def has_default_modes(self) -> bool:
        """Return True if text is printed as at the beginning."""
        is_whole = (self.top, self.bottom) == (0, self.height - 1)
        draws = self.pen.shift or any(self.pen.draws)
        return is_whole and self.wraps and self.tabs is None and not (self.inserts or self.is_origin or draws)

    @property
    def is_alternate(self) -> bool:
        return self.main_rows is not None

    @property
    def is_between_tokens(self) -> bool:
        return self._tokens.is_between_tokens

    @property
    def style(self) -> CellStyle | None:
        """Return the style of the next characters; None on a screen without styles."""
        return self.pen.style if self.has_styles else None

    def write(self, text: str) -> None:
        """Draw the next text. A sequence may be torn at its end."""
        for token in self._tokens.feed(text):
            apply_token(self, token)

    def row(self, y: int) -> Row:
        """Return a row of the screen, which may be changed."""
        while y >= len(self.rows):
            self.rows.append(Row())
        return self.rows[y]

    # Printing

    def print(self, text: str) -> None:
        """Print characters at the cursor."""
        self.last_char = text[-1] if text[-1].isascii() or self.shape.repeats_all else ""
        if self.pen.draws[self.pen.shift]:
            self._print_drawing(text)
        elif text.isascii():
            self._print_narrow(text)
        else:
            for char in text:
                self._print_char(char)

    def _print_drawing(self, text: str) -> None:
        for char in text:
            if char.isascii():
                self._print_cell(char.translate(LINE_DRAWING), 1)
            else:
                self._print_char(char)

    def _print_narrow(self, text: str) -> None:
        """Print ASCII text, row by row."""
        if not self.wraps or self.inserts:
            for char in text:
                self._print_cell(char, 1)
            return
        at = 0
        while at < len(text):
            if self.x >= self.columns:
                self._wrap()
            part = text[at : at + self.columns - self.x]
            row = self.row(self.y)
            if self.x < len(row.cells) and row.cells[self.x] == CONTINUED:
                self._free_half(row)
            row.put(self.x, list(part), self.style, is_text=self._is_older, keeps_half=self._is_older)
            self.x += len(part)
            at += len(part)

    def _free_half(self, row: Row) -> None:
        """Make a blank of half a wide character at the cursor, if what is before it is another character."""
        first = self.find_start(self.x)
        if self._is_narrow(row.cells[first]):
            row.cells[first + 1 : self.x + 1] = [BLANK] * (self.x - first)

    def _is_narrow(self, cell: str) -> bool:
        emoji = self.shape.emoji
        return (width_of_cell(cell, emoji) if emoji else cell_width(cell[:1] or " ", emoji=emoji)) == 1

    def _print_char(self, char: str) -> None:
        """Print a character of any width."""
        if char.isascii():
            self._print_narrow(char)
        elif not join_char(self, char):
            self._print_cell(char, cell_width(char, emoji=self.shape.emoji))

    def _print_cell(self, char: str, width: int) -> None:
        """Print a character as a cell of its own."""
        if not self.wraps and self._is_cut_off(width):
            return
        if self.inserts:
            self._make_room(width)
        if self.wraps and self.x > self.columns - width:
            self._wrap()
        if self.x > self.columns - width:
            return
        self._put_cell(char, width)
        last = self.columns - (not self.wraps)
        self.x = min(self.x + width, last) if width <= last else width  # tmux: an unsigned number below zero

    def _is_cut_off(self, width: int) -> bool:
        """Return whether tmux drops a wide character at the right edge, where rows do not wrap."""
        return width > 1 and (width > self.columns or self.columns - width < self.x < self.columns)

    def _put_cell(self, char: str, width: int) -> None:
        """Put a character at the cursor. For a plain blank tmux adds no cells to a row."""
        row = self.row(self.y)
        is_special = self.inserts or self.pen.draws[self.pen.shift]
        is_blank = char == " " and self.style in (None, PLAIN) and not is_special
        if is_blank and self.x >= self._count_allocated(row):
            return
        before = (row.cells[self.x : self.x + 1] or [BLANK])[0]
        is_narrow = self._is_older and before not in (CONTINUED, TAB) and self._is_narrow(before)
        cells = [char, *[CONTINUED] * (width - 1)]
        row.put(self.x, cells, self.style, keeps_half=is_narrow or before == BLANK)

    def _make_room(self, width: int) -> None:
        """Move the cells at the cursor to the right, in insert mode."""
        style = PLAIN if self.has_styles else None
        if self.x >= self.columns - 1:
            self.row(self.y).erase(self.x, self.x + 1, style)
        else:
            self.row(self.y).insert(self.x, width, self.columns, style)

    def _count_allocated(self, row: Row) -> int:
        """Return for how many columns tmux has allocated cells: a quarter of the row, a half, or all."""
        for size in (self.columns // 4, self.columns // 2, self.columns):
            if 0 < row.extent < size:
                return size
        return max(row.extent, self.columns) if row.extent else 0

    def _wrap(self) -> None:
        """Begin a new row, which continues this one."""
        self.row(self.y).is_wrapped = True
        self.feed_line(PLAIN if self.has_styles else None)
        self.x = 0

    def find_start(self, column: int) -> int:
        """Return the column where the character that covers a column begins."""
        cells = self.row(self.y).cells
        while 0 < column < len(cells) and cells[column] == CONTINUED:
            column -= 1
        return column

    def print_lines(self, text: str) -> None:
        """Print whole lines of text and colours."""
        for line in SGR.sub("", text).split("\r\n")[:-1]:
            if line:
                self.print(line)
            self.x = 0
            self.feed_line(None)

    # Tab stops

    @property
    def tab_stops(self) -> frozenset[int]:
        return frozenset(range(0, self.columns, _TAB)) if self.tabs is None else self.tabs

    def is_tab_stop(self, column: int) -> bool:
        return column % _TAB == 0 if self.tabs is None else column in self.tabs

    def tab(self) -> None:
        """Move to the next tab stop, at most to the last column."""
        if self.x < self.columns - 1:
            self.x += 1
            while self.x < self.columns - 1 and not self.is_tab_stop(self.x):
                self.x += 1

    # The alternate screen

    def enter_alternate(self, *, with_cursor: bool) -> None:
        """Begin an empty screen without scrollback, and keep the normal one."""
        if self.main_rows is not None:
            return
        self.main_rows, self.main_y = self.rows, self.y
        if with_cursor:
            self.main_cursor = self.x, self.y
        self._main_style = self.pen.style
        self.rows = []
        self.end_wrapping(0)
        self.row(self.y)

    def leave_alternate(self, *, with_cursor: bool) -> None:
        """Return to the normal screen. tmux restores the cursor also where that is shown already."""
        if with_cursor and self.main_cursor is not None:
            self.x, self.y = self.main_cursor
            self.pen.style = self._main_style
        if self.main_rows is not None:
            self.rows, self.main_rows = self.main_rows, None
        self.x = min(self.x, self.columns - 1)
        self.row(self.y)

    # What a growing page does in another way

    @property
    def erases_all_from_cursor(self) -> bool:
        """Return True if erasing from the cursor to the end of the screen erases all of it."""
        return self.x == 0 and self.y == 0

    def note_placed(self) -> None:
        """Note that the program has moved the cursor to a place of the screen."""

    def clear_history(self) -> None:
        self.history.clear()

    def is_used(self, row: Row) -> bool:
        """Return True if a row goes into the scrollback when the screen is cleared."""
        return row.used > 0

    # Rows

    def clear_row(self, y: int) -> None:
        self.clear_rows(y, y + 1, self.style)

    def feed_line(self, style: CellStyle | None) -> None:
        """Move down, or scroll at the end of the scroll region."""
        if self.y == self.bottom:
            self.scroll_up(1, style)
        elif self.y < self.height - 1:
            self.y += 1
            self.row(self.y)

    def new_row(self, style: CellStyle | None) -> Row:
        """Return an empty row in the background of the style."""
        row = Row()
        if style is not None and style.bg is not None:
            row.erase(0, self.columns, style)
        return row

    def scroll_up(self, count: int, style: CellStyle | None) -> None:
        """Move the rows of the region up. On the normal screen the first ones go into the scrollback."""
        for _ in range(count):
            if self.is_alternate:
                self.move_rows(self.top, self.top + 1, self.bottom - self.top, style)
                continue
            self.row(self.bottom)
            self.history.append(self.rows.pop(self.top))
            self.rows.insert(self.bottom, self.new_row(style))

    def scroll_down(self, count: int, style: CellStyle | None) -> None:
        for _ in range(count):
            self.move_rows(self.top + 1, self.top, self.bottom - self.top, style)

    def move_rows(self, to: int, first: int, count: int, style: CellStyle | None) -> None:
        """Move `count` rows to another place and empty those that they leave, as `grid_move_lines`."""
        if count <= 0 or to == first:
            return
        self.row(max(to, first) + count - 1)
        self.end_wrapping(to)
        self.rows[to : to + count] = self.rows[first : first + count]
        for y in range(first, first + count):
            if not to <= y < to + count:
                self.rows[y] = self.new_row(style)
        if not to <= first < to + count:
            self.end_wrapping(first)

    def end_wrapping(self, y: int) -> None:
        """Note that the row above does not continue in this row any more."""
        if y == 0:
            if self.history:
                self.history[-1].is_wrapped = False
        elif y <= len(self.rows):
            self.rows[y - 1].is_wrapped = False

    def clear_rows(self, first: int, end: int, style: CellStyle | None) -> None:
        """Clear whole rows."""
        if first >= min(end, self.height):
            return
        has_ground = style is not None and style.bg is not None
        if end >= len(self.rows) and not has_ground:
            del self.rows[first:]
        for y in range(first, end if has_ground else min(end, len(self.rows))):
            self.row(y)
            self.rows[y] = self.new_row(style)
        self.end_wrapping(first)
        self.row(self.y)

    def clear_into_history(self, style: CellStyle | None) -> None:
        """Move the rows down to the last one that was used into the scrollback, and empty the screen."""
        last = max((y + 1 for y, row in enumerate(self.rows) if self.is_used(row)), default=0)
        self.history += self.rows[:last]
        self.rows = []
        if last < self.height:
            self.end_wrapping(0)
        if style is not None and style.bg is not None:
            self.rows = [self.new_row(style) for _ in range(self.height)]
        self.row(self.y)
