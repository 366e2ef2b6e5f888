"""Terminal bytes as text: the lines that a person would have seen in the end.

Plain output is only split into lines. All other output is drawn on a `TextScreen`, whose rows grow without
end:

- carriage returns and erasures leave the last state of a line;
- cursor movements reach the rows that would be on the screen;
- clearing the screen starts a new page and loses nothing;
- what a full-screen program draws on the alternate screen is left out.

Lines are as long as they were written; the width of the terminal does not cut them.
"""

from __future__ import annotations

import re

from muxpilot.records import record
from muxpilot.terminal.escapes import ALTERNATE_MODES, TORN_SEQUENCE
from muxpilot.terminal.width import is_combining, is_wide

_PLAIN = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\t]*\Z")
_TOKEN = re.compile(
    r"\x1b\[([0-?]*)([ -/]*)([@-~])"  # 1-3: control sequence
    r"|\x1b[\]X^_k][^\x07\x18\x1a\x1b]*(?:[\x07\x18\x1a]|\x1b\\)?"  # strings: titles, clipboard
    r"|\x1bP.*?(?:\x1b\\|\Z)"  # strings that may contain escapes: images, pass-through
    r"|\x1b[ -/]*([0-~])"  # 4: escape
    r"|([\x00-\x1f\x7f-\x9f])"  # 5: control character
    r"|((?:(?:[ -~]++|\x1b\[[0-9;:]*+m)*+\r\n){2,}+)"  # 6: whole lines of text and colours
    r"|([^\x00-\x1f\x7f-\x9f]+)",  # 7: text
    re.DOTALL,
)
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_TORN = re.compile(TORN_SEQUENCE)
_ALTERNATE_MODES = frozenset(ALTERNATE_MODES)
_TAB = 8
_LARGEST = 10_000  # tmux has no larger window, but a program may ask for any column


@record
class RenderedText:
    """The lines, and whether a full-screen program covers the screen at the end of the bytes."""

    lines: list[str]
    is_alternate: bool = False


def render_lines(data: bytes, *, before: str = "", height: int = 50) -> list[str]:
    """Return the lines that these bytes draw; `before` is the text that is on the first line already."""
    return render_text(data, before=before, height=height).lines


def render_text(
    data: bytes, *, before: str = "", height: int = 50, is_alternate: bool = False
) -> RenderedText:
    """Return the lines that these bytes draw. `is_alternate`: they begin inside a full-screen program."""
    text = data.decode("utf-8", "replace")
    plain = text.replace("\r\n", "\n")
    if _PLAIN.match(plain) and not is_alternate:
        return RenderedText((before + plain).split("\n"))
    screen = TextScreen(height, before, is_alternate=is_alternate)
    screen.write(_TORN.sub("", text))
    return RenderedText(screen.lines(), screen.is_alternate)


class TextScreen:
    """Rows of characters that grow without end, and a cursor.

    The last `height` rows are the screen that cursor movements can reach. `keeps_tabs` leaves a tab in the
    text, in place of the blanks that it skips.
    """

    def __init__(
        self, height: int, before: str = "", *, is_alternate: bool = False, keeps_tabs: bool = False
    ) -> None:
        self.is_alternate = is_alternate
        self._keeps_tabs = keeps_tabs
        self._height = height
        self._margin: int | None = None
        self._rows: list[list[str]] = [_split_columns(before)]
        self._row = 0
        self._column = len(self._rows[0])
        self._page_start = 0
        self._saved = (0, 0)
        self._is_home = False  # the cursor was sent to the top left corner, and nothing was printed since

    def lines(self) -> list[str]:
        return ["".join(row) for row in self._rows]

    @property
    def is_plain_text(self) -> bool:
        """Return True if the state is only text that continues at its end: no margin, no cursor elsewhere."""
        at_end = self._row == len(self._rows) - 1 and self._column == len(self._rows[-1])
        is_below = self._page_start <= len(self._rows) - self._height or self._page_start == 0
        return at_end and is_below and self._margin is None and not self.is_alternate

    def take_scrolled_off(self) -> list[str]:
        """Remove and return the rows above the screen, which no cursor movement can reach again."""
        count = min(len(self._rows) - self._height, self._row) if self._margin is None else 0
        if count <= 0:
            return []
        lines = ["".join(row) for row in self._rows[:count]]
        del self._rows[:count]
        self._row -= count
        self._page_start = max(0, self._page_start - count)
        self._saved = (max(0, self._saved[0] - count), self._saved[1])
        return lines

    def write(self, text: str) -> None:
        """Draw text that contains no torn sequence at its end."""
        for token in _TOKEN.finditer(text):
            parameters, _, final, escape, control, lines, run = token.groups()
            if final is not None:
                self._apply_sequence(final, parameters)
            elif self.is_alternate:
                continue
            elif run is not None:
                self._print(run)
            elif lines is not None:
                self._print_lines(lines)
            elif control is not None:
                self._apply_control(control)
            elif escape is not None:
                self._apply_escape(escape)

    @property
    def _top(self) -> int:
        return max(self._page_start, len(self._rows) - self._height)

    def _print(self, run: str) -> None:
        self._is_home = False
        row = self._rows[self._row]
        if self._column > len(row):
            row.extend(" " * (self._column - len(row)))
        if self._column and run and is_combining(run[0]):
            run = self._attach_combining(row, run)
        cells = _split_columns(run)
        row[self._column : self._column + len(cells)] = cells
        self._column += len(cells)

    def _print_lines(self, text: str) -> None:
        """Print whole lines: at the end of all rows they become rows as they are."""
        lines = _COLOURS.sub("", text).split("\r\n")
        if self._margin is not None or self._row != len(self._rows) - 1:
            for line in lines[:-1]:
                self._print(line)
                self._feed_line(0)
            return
        self._print(lines[0])
        self._rows += map(list, lines[1:])
        self._row, self._column = len(self._rows) - 1, 0

    def _attach_combining(self, row: list[str], run: str) -> str:
        """Add the combining characters that `run` begins with to the character before; return the rest."""
        count = next((at for at, char in enumerate(run) if not is_combining(char)), len(run))
        row[self._column - (1 if row[self._column - 1] else 2)] += run[:count]
        return run[count:]

    def _apply_control(self, char: str) -> None:
        if char in "\n\x0b\x0c\x85":
            self._feed_line(0 if char == "\x85" else self._column)
        elif char == "\r":
            self._column = 0
        elif char == "\b":
            self._column = max(0, self._column - 1)
        elif char == "\t":
            self._move_to_tab_stop()

    def _move_to_tab_stop(self) -> None:
        """Move to the next tab stop. A tab that is kept goes into the first of the columns that it skips."""
        row, width = self._rows[self._row], _TAB - self._column % _TAB
        if self._keeps_tabs and self._column >= len(row):
            row.extend(" " * (self._column - len(row)))
            row.extend(["\t", *[""] * (width - 1)])
        self._column += width

    def _apply_escape(self, final: str) -> None:
        if final == "7":
            self._saved = (self._row, self._column)
        elif final == "8":
            self._go(*self._saved)
        elif final in "DE":
            self._feed_line(0 if final == "E" else self._column)
        elif final == "M":
            self._go(max(self._top, self._row - 1), self._column)
        elif final == "c":
            self._start_page()

    def _apply_sequence(self, final: str, parameters: str) -> None:
        if final in "hl" and parameters[:1] == "?" and _ALTERNATE_MODES & set(parameters[1:].split(";")):
            self.is_alternate = final == "h"
            return
        act = _SEQUENCES.get(final)
        if act is None or self.is_alternate or parameters[:1] in ("?", "<", "=", ">"):
            return
        numbers = [min(int(part[:9]), _LARGEST) if part.isdigit() else 0 for part in parameters.split(";")]
        act(self, numbers[0], numbers[1] if len(numbers) > 1 else 0)

    def _feed_line(self, column: int) -> None:
        """Move down a line. At the end of a scroll region, insert a row above the fixed ones."""
        self._is_home = False
        if self._margin is not None and self._row == self._top + self._margin - 1:
            self._rows.insert(self._row + 1, [])
        self._go(self._row + 1, column)

    def _go(self, row: int, column: int) -> None:
        self._row, self._column = max(row, 0), max(column, 0)
        while self._row >= len(self._rows):
            self._rows.append([])

    def _start_page(self) -> None:
        """Start a new page below all rows that have text, as when the screen is cleared."""
        while len(self._rows) > self._page_start + 1 and not self._rows[-1]:
            self._rows.pop()
        if any(self._rows[self._page_start :]):
            self._page_start = len(self._rows)
        self._go(self._page_start, 0)

    def move_up(self, count: int, _: int) -> None:
        self._go(max(self._top, self._row - max(count, 1)), self._column)

    def move_down(self, count: int, _: int) -> None:
        self._go(min(self._top + self._height - 1, self._row + max(count, 1)), self._column)

    def move_right(self, count: int, _: int) -> None:
        self._column = min(self._column + max(count, 1), max(self._column, _LARGEST))

    def move_left(self, count: int, _: int) -> None:
        self._column = max(0, self._column - max(count, 1))

    def move_down_to_start(self, count: int, _: int) -> None:
        self.move_down(count, 0)
        self._column = 0

    def move_up_to_start(self, count: int, _: int) -> None:
        self.move_up(count, 0)
        self._column = 0

    def move_to_column(self, column: int, _: int) -> None:
        self._column = max(column, 1) - 1

    def move_to_row(self, row: int, _: int) -> None:
        self._go(self._top + min(max(row, 1), self._height) - 1, self._column)

    def move_to(self, row: int, column: int) -> None:
        self.move_to_row(row, 0)
        self._column = max(column, 1) - 1
        self._is_home = (self._row, self._column) == (self._top, 0)

    def erase_line(self, what: int, _: int) -> None:
        """Erase from the cursor to the end (0), from the start to the cursor (1), or the whole line (2)."""
        row = self._rows[self._row]
        if what == 0:
            del row[self._column :]
        elif what == 1:
            row[: self._column + 1] = " " * min(self._column + 1, len(row))
        else:
            row.clear()

    def erase_screen(self, what: int, _: int) -> None:
        """Erase below the cursor (0) or everything (2, 3); a cleared screen starts a new page.

        A program that goes up to its own first row and erases from there takes back what it has drawn.
        """
        is_at_top = self._is_home and (self._row, self._column) == (self._top, 0)
        if what >= 2 or (what == 0 and is_at_top):
            self._start_page()
        elif what == 0:
            self.erase_line(0, 0)
            del self._rows[self._row + 1 :]

    def delete_cells(self, count: int, _: int) -> None:
        del self._rows[self._row][self._column : self._column + max(count, 1)]

    def insert_cells(self, count: int, _: int) -> None:
        self._rows[self._row][self._column : self._column] = " " * max(count, 1)

    def erase_cells(self, count: int, _: int) -> None:
        row = self._rows[self._row]
        end = min(self._column + max(count, 1), len(row))
        row[self._column : end] = " " * max(0, end - self._column)

    def insert_lines(self, count: int, _: int) -> None:
        self._rows[self._row : self._row] = [[] for _ in range(min(max(count, 1), self._height))]

    def delete_lines(self, count: int, _: int) -> None:
        del self._rows[self._row : self._row + max(count, 1)]
        self._go(self._row, self._column)

    def set_scroll_region(self, _: int, last: int) -> None:
        """Let only rows up to `last` scroll: the program keeps a progress bar or similar below them."""
        self._margin = last if 0 < last < self._height else None
        if self._margin is not None:
            self._go(self._top + self._height - 1, 0)
        self._go(self._top, 0)

    def save_cursor(self, _count: int, _: int) -> None:
        self._saved = (self._row, self._column)

    def restore_cursor(self, _count: int, _: int) -> None:
        self._go(*self._saved)


_SEQUENCES = {
    "A": TextScreen.move_up,
    "B": TextScreen.move_down,
    "C": TextScreen.move_right,
    "D": TextScreen.move_left,
    "E": TextScreen.move_down_to_start,
    "F": TextScreen.move_up_to_start,
    "G": TextScreen.move_to_column,
    "H": TextScreen.move_to,
    "J": TextScreen.erase_screen,
    "K": TextScreen.erase_line,
    "L": TextScreen.insert_lines,
    "M": TextScreen.delete_lines,
    "P": TextScreen.delete_cells,
    "X": TextScreen.erase_cells,
    "@": TextScreen.insert_cells,
    "d": TextScreen.move_to_row,
    "f": TextScreen.move_to,
    "r": TextScreen.set_scroll_region,
    "s": TextScreen.save_cursor,
    "u": TextScreen.restore_cursor,
}


def _split_columns(text: str) -> list[str]:
    """Return one entry for each column.

    A wide character has an empty entry after it; a combining one is in the entry of its base.
    """
    if text.isascii():
        return list(text)
    cells: list[str] = []
    for char in text:
        if char < "\x80":
            cells.append(char)
        elif cells and is_combining(char):
            cells[-1 if cells[-1] else -2] += char
        else:
            cells.append(char)
            if is_wide(char):
                cells.append("")
    return cells
