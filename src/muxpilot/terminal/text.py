"""Terminal bytes as text: the lines that a person would have seen in the end.

Plain output is only split into lines. All other output is drawn on a `TextPage`, a screen whose scrollback
is never erased:

- carriage returns and erasures leave the last state of a line;
- cursor movements reach the rows that would be on the screen;
- clearing the screen starts a new page and loses nothing;
- what a full-screen program draws on the alternate screen is left out.

A line that is longer than the screen is one line.
"""

from __future__ import annotations

import re
from itertools import pairwise

from muxpilot.records import record
from muxpilot.terminal.escapes import SGR
from muxpilot.terminal.pen import SavedCursor
from muxpilot.terminal.printable import is_printable_ascii
from muxpilot.terminal.rows import BLANK, CONTINUED, TAB, Row
from muxpilot.terminal.screen import Screen
from muxpilot.terminal.shape import ANY_SHAPE, ScreenShape
from muxpilot.terminal.width import cell_width

_PARTS_OF_EMOJI = re.compile("[\ufe0f\U0001f3fb-\U0001f3ff\U0001f1e6-\U0001f1ff]")


@record
class RenderedText:
    """The lines, and whether a full-screen program covers the screen at the end of the bytes."""

    lines: list[str]
    is_alternate: bool = False


def render_lines(data: bytes, *, before: str = "", shape: ScreenShape = ANY_SHAPE) -> list[str]:
    """Return the lines that these bytes draw; `before` is the text that is on the first line already."""
    return render_text(data, before=before, shape=shape).lines


def render_text(
    data: bytes, *, before: str = "", shape: ScreenShape = ANY_SHAPE, is_alternate: bool = False
) -> RenderedText:
    """Return the lines that these bytes draw. `is_alternate`: they begin inside a full-screen program."""
    text = data.decode("utf-8", "replace")
    if not is_alternate and is_plain(text, follows=before) and "\t" not in text:
        return RenderedText((before + text.replace("\r\n", "\n")).split("\n"))
    page = TextPage(shape, before=before, is_alternate=is_alternate)
    page.write(text)
    return RenderedText(page.text().split("\n"), page.is_alternate)


def is_plain(text: str, *, follows: str = "") -> bool:
    """Return True if text needs no screen: printable characters, tabs and whole line ends.

    `follows` is the text before it. A combining character at the beginning of a line is not plain: there is
    nothing that it could be drawn on. Nor are parts of emoji, which may move the cursor at the end of a row.
    """
    lines = text.replace("\r\n", "\n") if "\r" in text else text
    if len(lines) + lines.count("\n") != len(text):  # a bare line feed does not return to the first column
        return False
    if is_printable_ascii(lines):
        return True
    if text.isascii() or not lines.replace("\n", "").replace("\t", "").isprintable():
        return False
    if _PARTS_OF_EMOJI.search(text):
        return False
    first, *others = lines.split("\n")
    is_inside = follows and not follows.endswith("\n")
    starts = [line[0] for line in (others if is_inside else (first, *others)) if line and line[0] > "\x7f"]
    return not any(cell_width(char) == 0 for char in starts)


class TextPage(Screen):
    """A screen for text: its rows and scrollback grow without end, and erasing the scrollback is ignored.

    `keeps_tabs` leaves a tab in the text, in place of the blanks that it skips.
    """

    def __init__(
        self, shape: ScreenShape, *, before: str = "", is_alternate: bool = False, keeps_tabs: bool = False
    ) -> None:
        super().__init__(shape)
        self._keeps_tabs = keeps_tabs
        self._is_home = False  # the cursor was sent to the top left corner, and nothing was printed since
        if before:
            self.print(before)
        if is_alternate:
            self.enter_alternate(with_cursor=True)

    def text(self) -> str:
        """Return the text of the scrollback and the normal screen, down to the last text or the cursor."""
        return _join([*self.history, *self._page_rows()]).removesuffix("\n")

    def take_scrolled_off(self) -> str:
        """Remove and return the text of the scrollback, which no cursor movement can reach again."""
        text = _join(self.history)
        self.history.clear()
        return text

    @property
    def is_plain_text(self) -> bool:
        """Return True if the state is only text that continues at its end: no mode, no cursor elsewhere."""
        rows = self._page_rows()
        last = self.rows[self.y]
        return (
            self.y == len(rows) - 1
            and self.x == len(last.cells) >= last.used  # erased cells count if the row wraps
            and not last.is_wrapped
            and not self.is_alternate
            and self.is_between_tokens
            and self.has_default_modes
            and self.saved == SavedCursor()
            and self.main_cursor is None
            and all(_is_refilled(row, below, self.columns) for row, below in pairwise(rows) if row.is_wrapped)
            and all(self._is_redrawn(row) for row in rows)
        )

    def _is_redrawn(self, row: Row) -> bool:
        """Return True if printing the text of a row gives the same cells: half characters do not."""
        text = row.text
        if text.isascii() and TAB not in text:
            return len(text) == len(row.cells)
        page = TextPage(self.shape, keeps_tabs=self._keeps_tabs)
        page.write(text)
        return page.rows[0].cells == row.cells and len(page.rows) == 1

    def _page_rows(self) -> list[Row]:
        if self.main_rows is not None:
            rows, y = self.main_rows, self.main_y
        else:
            rows, y = self.rows, self.y
        last = max((at for at, row in enumerate(rows) if row.cells), default=0)
        return rows[: max(last, y) + 1]

    def print(self, text: str) -> None:
        self._is_home = False
        super().print(text)

    def print_lines(self, text: str) -> None:
        """Print whole lines. At the end of all text they become rows as they are."""
        self._is_home = False
        if self.is_alternate or self.y != len(self.rows) - 1 or not self.has_default_modes:
            super().print_lines(text)
            return
        first, *lines = SGR.sub("", text).split("\r\n")
        if first:
            self.print(first)
        for line in lines:
            if len(line) <= self.columns:
                self.rows.append(Row(line))
            else:
                self.rows += _wrap(line, self.columns)
        gone = len(self.rows) - self.height
        if gone > 0:
            self.history += self.rows[:gone]
            del self.rows[:gone]
        self.x, self.y = 0, len(self.rows) - 1

    def note_placed(self) -> None:
        self._is_home = self.x == self.y == 0

    @property
    def erases_all_from_cursor(self) -> bool:
        """Return True if the program has gone home to erase the screen.

        The page begins where the program began to print. One that goes up to its own first row and erases
        from there takes back what it has drawn.
        """
        return self._is_home and self.x == self.y == 0

    def clear_history(self) -> None:
        """Keep the scrollback: what was printed stays."""

    def end_wrapping(self, y: int) -> None:
        if y > 0:  # the scrollback does not change
            super().end_wrapping(y)

    def is_used(self, row: Row) -> bool:
        return bool(row.cells)

    def tab(self) -> None:
        """Move to the next tab stop. A tab that is kept goes into the first of the columns that it skips.

        At the right edge it skips none, and stays with the character before it.
        """
        row, before = self.row(self.y), self.x
        super().tab()
        if not self._keeps_tabs or before < len(row.cells):
            return
        if self.x == before > 0:
            row.combine(before - 1, TAB, None)
        elif self.x > before:
            row.put(before, [TAB, *[CONTINUED] * (self.x - before - 1)], None)


def _is_refilled(row: Row, below: Row, columns: int) -> bool:
    """Return True if the text of a row that continues below it would be wrapped there again."""
    return len(row.cells) == columns and below.cells[:1] not in ([], [TAB])


def _wrap(line: str, columns: int) -> list[Row]:
    """Return the rows of a line that is longer than the screen."""
    rows = [Row(line[at : at + columns]) for at in range(0, len(line), columns)]
    for row in rows[:-1]:
        row.is_wrapped = True
    return rows


def _join(rows: list[Row]) -> str:
    """Return the text of rows. A row that continues in the next one has no line end, and all its blanks."""
    return "".join([_fill(row) if row.is_wrapped else row.text + "\n" for row in rows])


def _fill(row: Row) -> str:
    return row.text + BLANK * (row.used - len(row.cells))
