"""Terminal bytes as text: what a person would have seen in the end, line by line.

Plain output takes a short way. The rest goes over a page whose rows grow without end: carriage returns
and erasures leave the last state of a line, cursor movements reach the rows that would be on the screen,
clearing the screen begins a new page and loses nothing, and what a full-screen program draws is left out.
Lines are as long as they were written; the terminal's width does not cut them.
"""

from __future__ import annotations

import re
import unicodedata

from muxpilot.records import record

_PLAIN = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\t]*\Z")
_TOKEN = re.compile(
    r"\x1b\[([0-9;:<=>?]*)([ -/]*)([@-~])"  # 1-3: control sequence
    r"|\x1b[\]X^_k][^\x07\x18\x1a\x1b]*(?:[\x07\x18\x1a]|\x1b\\)?"  # strings: titles, clipboard
    r"|\x1bP.*?(?:\x1b\\|\Z)"  # strings that may hold escapes: images, what is passed through
    r"|\x1b[ -/]*([0-~])"  # 4: escape
    r"|([\x00-\x1f\x7f-\x9f])"  # 5: control character
    r"|([^\x00-\x1f\x7f-\x9f]+)",  # 6: text
    re.DOTALL,
)
# A sequence whose end has not come yet.
_TORN = re.compile(r"\x1b(?:\[[0-9;:<=>?]*[ -/]*|[ -/]*)\Z")
_ALTERNATE = frozenset({"1049", "1047", "47"})
_TAB = 8
_LARGEST = 10_000  # tmux has no larger window; a program may ask for any column


@record
class Text:
    """The lines, and whether a full-screen program stands over them at their end."""

    lines: list[str]
    is_alternate: bool = False


def text_lines(data: bytes, *, before: str = "", height: int = 50) -> list[str]:
    """The lines that these bytes made; `before` is what stood on the first line already."""
    return rendered(data, before=before, height=height).lines


def rendered(data: bytes, *, before: str = "", height: int = 50, is_alternate: bool = False) -> Text:
    """The same, for bytes that may begin inside a full-screen program."""
    text = data.decode("utf-8", "replace")
    plain = text.replace("\r\n", "\n")
    if _PLAIN.match(plain) and not is_alternate:
        return Text((before + plain).split("\n"))
    page = Page(height, before, is_alternate=is_alternate)
    page.write(_TORN.sub("", text))
    return Text(page.lines(), page.is_alternate)


class Page:
    """Rows of cells, a cursor, and where the screen's first row is."""

    def __init__(
        self, height: int, before: str = "", *, is_alternate: bool = False, keeps_tabs: bool = False
    ) -> None:
        self.is_alternate = is_alternate
        self._keeps_tabs = keeps_tabs
        self._height = height
        self._margin: int | None = None
        self._rows: list[list[str]] = [_cells(before)]
        self._row = 0
        self._column = len(self._rows[0])
        self._page = 0
        self._saved = (0, 0)

    def lines(self) -> list[str]:
        return ["".join(row) for row in self._rows]

    @property
    def is_plain(self) -> bool:
        """Whether it is text that goes on at its end, and nothing else has to be remembered."""
        at_end = self._row == len(self._rows) - 1 and self._column == len(self._rows[-1])
        is_below = self._page <= len(self._rows) - self._height or self._page == 0
        return at_end and is_below and self._margin is None and not self.is_alternate

    def take_settled(self) -> list[str]:
        """The rows that have left the screen: no cursor reaches them again."""
        count = min(len(self._rows) - self._height, self._row) if self._margin is None else 0
        if count <= 0:
            return []
        settled = ["".join(row) for row in self._rows[:count]]
        del self._rows[:count]
        self._row -= count
        self._page = max(0, self._page - count)
        self._saved = (max(0, self._saved[0] - count), self._saved[1])
        return settled

    def write(self, text: str) -> None:
        for token in _TOKEN.finditer(text):
            parameters, _, final, escape, control, run = token.groups()
            if final is not None:
                self._sequence(final, parameters)
            elif self.is_alternate:
                continue
            elif run is not None:
                self._print(run)
            elif control is not None:
                self._control(control)
            elif escape is not None:
                self._escape(escape)

    @property
    def _top(self) -> int:
        return max(self._page, len(self._rows) - self._height)

    def _print(self, run: str) -> None:
        row = self._rows[self._row]
        if self._column > len(row):
            row.extend(" " * (self._column - len(row)))
        if self._column and _is_mark(run[0]):
            run = self._mark(row, run)
        cells = _cells(run)
        row[self._column : self._column + len(cells)] = cells
        self._column += len(cells)

    def _mark(self, row: list[str], run: str) -> str:
        """Marks at the beginning belong to the character before them; answers what follows."""
        count = next((at for at, char in enumerate(run) if not _is_mark(char)), len(run))
        row[self._column - (1 if row[self._column - 1] else 2)] += run[:count]
        return run[count:]

    def _control(self, char: str) -> None:
        if char in "\n\x0b\x0c\x85":
            self._feed(0 if char == "\x85" else self._column)
        elif char == "\r":
            self._column = 0
        elif char == "\b":
            self._column = max(0, self._column - 1)
        elif char == "\t":
            self._tab()

    def _tab(self) -> None:
        """A tab that is kept stands in the first of the columns that it skips."""
        row, width = self._rows[self._row], _TAB - self._column % _TAB
        if self._keeps_tabs and self._column >= len(row):
            row.extend(" " * (self._column - len(row)))
            row.extend(["\t", *[""] * (width - 1)])
        self._column += width

    def _escape(self, final: str) -> None:
        if final == "7":
            self._saved = (self._row, self._column)
        elif final == "8":
            self._go(*self._saved)
        elif final in "DE":
            self._feed(0 if final == "E" else self._column)
        elif final == "M":
            self._go(max(self._top, self._row - 1), self._column)
        elif final == "c":
            self._new_page()

    def _sequence(self, final: str, parameters: str) -> None:
        if final in "hl" and parameters[:1] == "?" and _ALTERNATE & set(parameters[1:].split(";")):
            self.is_alternate = final == "h"
            return
        act = _SEQUENCES.get(final)
        if act is None or self.is_alternate or parameters[:1] in ("?", "<", "=", ">"):
            return
        numbers = [min(int(part[:9]), _LARGEST) if part.isdigit() else 0 for part in parameters.split(";")]
        act(self, numbers[0], numbers[1] if len(numbers) > 1 else 0)

    def _feed(self, column: int) -> None:
        """Down a line; above what a program keeps at the bottom of the screen there is always another."""
        if self._margin is not None and self._row == self._top + self._margin - 1:
            self._rows.insert(self._row + 1, [])
        self._go(self._row + 1, column)

    def _go(self, row: int, column: int) -> None:
        self._row, self._column = max(row, 0), max(column, 0)
        while self._row >= len(self._rows):
            self._rows.append([])

    def _new_page(self) -> None:
        while len(self._rows) > self._page + 1 and not self._rows[-1]:
            self._rows.pop()
        if any(self._rows[self._page :]):
            self._page = len(self._rows)
        self._go(self._page, 0)

    def up(self, count: int, _: int) -> None:
        self._go(max(self._top, self._row - max(count, 1)), self._column)

    def down(self, count: int, _: int) -> None:
        self._go(min(self._top + self._height - 1, self._row + max(count, 1)), self._column)

    def right(self, count: int, _: int) -> None:
        self._column = min(self._column + max(count, 1), max(self._column, _LARGEST))

    def left(self, count: int, _: int) -> None:
        self._column = max(0, self._column - max(count, 1))

    def down_to_start(self, count: int, _: int) -> None:
        self.down(count, 0)
        self._column = 0

    def up_to_start(self, count: int, _: int) -> None:
        self.up(count, 0)
        self._column = 0

    def to_column(self, column: int, _: int) -> None:
        self._column = max(column, 1) - 1

    def to_row(self, row: int, _: int) -> None:
        self._go(self._top + min(max(row, 1), self._height) - 1, self._column)

    def to(self, row: int, column: int) -> None:
        self.to_row(row, 0)
        self._column = max(column, 1) - 1

    def erase_line(self, what: int, _: int) -> None:
        row = self._rows[self._row]
        if what == 0:
            del row[self._column :]
        elif what == 1:
            row[: self._column + 1] = " " * min(self._column + 1, len(row))
        else:
            row.clear()

    def erase_screen(self, what: int, _: int) -> None:
        if what >= 2 or (what == 0 and (self._row, self._column) == (self._top, 0)):
            self._new_page()
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

    def keep_rows(self, _: int, last: int) -> None:
        """Only rows up to `last` scroll from now on: below them stands a progress bar or the like."""
        self._margin = last if 0 < last < self._height else None
        if self._margin is not None:
            self._go(self._top + self._height - 1, 0)
        self._go(self._top, 0)

    def save(self, _count: int, _: int) -> None:
        self._saved = (self._row, self._column)

    def restore(self, _count: int, _: int) -> None:
        self._go(*self._saved)


_SEQUENCES = {
    "A": Page.up,
    "B": Page.down,
    "C": Page.right,
    "D": Page.left,
    "E": Page.down_to_start,
    "F": Page.up_to_start,
    "G": Page.to_column,
    "H": Page.to,
    "J": Page.erase_screen,
    "K": Page.erase_line,
    "L": Page.insert_lines,
    "M": Page.delete_lines,
    "P": Page.delete_cells,
    "X": Page.erase_cells,
    "@": Page.insert_cells,
    "d": Page.to_row,
    "f": Page.to,
    "r": Page.keep_rows,
    "s": Page.save,
    "u": Page.restore,
}


def _cells(text: str) -> list[str]:
    """One entry per column: a wide character has an empty one behind it, a mark stands with its base."""
    if text.isascii():
        return list(text)
    cells: list[str] = []
    for char in text:
        if cells and _is_mark(char):
            cells[-1 if cells[-1] else -2] += char
        else:
            cells.append(char)
            if unicodedata.east_asian_width(char) in "WF":
                cells.append("")
    return cells


def _is_mark(char: str) -> bool:
    return not char.isascii() and unicodedata.category(char) in ("Mn", "Me", "Cf")
