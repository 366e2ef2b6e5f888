"""One row of a screen: its cells, their styles, and what tmux remembers about the row."""

from __future__ import annotations

from muxpilot.terminal.style import PLAIN, CellStyle

BLANK = " "
TAB = "\t"
CONTINUED = ""  # the second column of a wide character, or a further one of a tab


class Row:
    """Cells from the left; what is missing at the right is blank.

    `styles` has one entry for each cell on a screen with styles, and none on others. `extent` is how many
    columns were ever in use since the row was empty, `used` the same without columns that were only erased in
    a colour: tmux decides by them what goes into the scrollback.
    """

    __slots__ = ("cells", "extent", "is_wrapped", "styles", "used")

    def __init__(self, text: str = "") -> None:
        self.cells: list[str] = list(text)
        self.styles: list[CellStyle] = []
        self.is_wrapped = False  # the text continues in the next row
        self.used = self.extent = len(self.cells)

    @property
    def text(self) -> str:
        return "".join(self.cells)

    def put(
        self,
        column: int,
        cells: list[str],
        style: CellStyle | None,
        *,
        is_text: bool = False,
        keeps_half: bool = False,
    ) -> None:
        """Replace the cells from a column on. Wide characters that lose a column become blanks.

        Before 3.6, tmux printed ASCII text in another way (`is_text`), which leaves such a character in the
        first column. A narrow cell may leave the half of a wide character beside it (`keeps_half`).
        """
        end = column + len(cells)
        # Erasing may leave half of a wide character.
        is_beside_half = keeps_half and not is_text and len(cells) == 1
        self._split_wide(column, keeps_first=is_text)
        if not is_beside_half:
            self._split_wide(end)
        self._pad(column, style is not None)
        self.cells[column:end] = cells
        if style is not None:
            self.styles[column:end] = [style] * len(cells)
        self._note_extent(end)

    def combine(self, column: int, text: str, style: CellStyle | None) -> None:
        """Add characters to the cell of a column."""
        self._pad(column + 1, style is not None)
        self.cells[column] += text
        self._note_extent(column + 1)

    def widen(self, column: int, style: CellStyle | None) -> None:
        """Give a cell a second column. Of a wide character there the other half stays, as in tmux."""
        self._pad(column + 2, style is not None)
        self.cells[column + 1] = CONTINUED
        self._note_extent(column + 2)

    def erase(self, column: int, end: int, style: CellStyle | None) -> None:
        """Erase columns, in the background of the style. Blanks at the end of the row are not kept."""
        has_ground = style is not None and style.bg is not None
        self._split_tabs(column, end)
        if has_ground:
            self._pad(end, style is not None)
            self.extent = max(self.extent, end)
        if column >= len(self.cells):
            return
        if end >= len(self.cells) and not has_ground:
            del self.cells[column:], self.styles[column:]
            return
        end = min(end, len(self.cells))
        self.cells[column:end] = [BLANK] * (end - column)
        if style is not None:
            self.styles[column:end] = [_ground(style)] * (end - column)

    def insert(self, column: int, count: int, columns: int, style: CellStyle | None) -> None:
        """Move the cells from a column on to the right. What leaves the screen is lost.

        As in tmux, nothing happens where no cell is left to move, and cells between the old and the new place
        of the moved ones stay.
        """
        moved = columns - column - count
        if moved <= 0:
            return
        self._split_tabs(column)
        length = len(self.cells)
        self._pad(columns, style is not None)
        gap = min(count, moved)
        source = slice(column, column + moved)
        self.cells[column + count : columns] = self.cells[source]
        self.cells[column : column + gap] = [BLANK] * gap
        if style is not None:
            self.styles[column + count : columns] = self.styles[source]
            self.styles[column : column + gap] = [_ground(style)] * gap
        else:
            del self.cells[min(columns, length + count if length > column else length) :]
        self._note_extent(columns)

    def delete(self, column: int, count: int, columns: int, style: CellStyle | None) -> None:
        """Move the cells behind the deleted ones to the left."""
        self._split_tabs(column, column + count)
        length = len(self.cells)
        self._pad(columns, style is not None)
        del self.cells[column : column + count]
        self.cells += [BLANK] * count
        if style is not None:
            del self.styles[column : column + count]
            self.styles += [_ground(style)] * count
        else:
            del self.cells[max(column, length - count) if length > column else length :]
        if count < columns - column:
            self._note_extent(columns - count)
            self.extent = max(self.extent, columns)

    def _note_extent(self, end: int) -> None:
        if end > self.used:
            self.used = end
            self.extent = max(self.extent, end)

    def _pad(self, end: int, has_styles: bool) -> None:  # noqa: FBT001 - private
        missing = end - len(self.cells)
        if missing > 0:
            self.cells += [BLANK] * missing
            if has_styles:
                self.styles += [PLAIN] * missing

    def _split_tabs(self, *columns: int) -> None:
        """Make blanks of tabs that cover one of these columns and begin before it."""
        if TAB in self.cells:
            for column in columns:
                self._split_wide(column, only=TAB)

    def _split_wide(self, column: int, *, keeps_first: bool = False, only: str | None = None) -> None:
        """Make blanks of a wide character that begins before a column and covers it."""
        cells = self.cells
        if column >= len(cells) or cells[column] != CONTINUED:
            return
        first = column
        while first > 0 and cells[first] == CONTINUED:
            first -= 1
        if only not in (None, cells[first]):
            return
        if first == 0 and keeps_first and cells[0] != TAB:
            first = 1
        end = column
        while end < len(cells) and cells[end] == CONTINUED:
            end += 1
        cells[first:end] = [BLANK] * (end - first)
        if self.styles:
            self.styles[first:end] = [PLAIN] * (end - first)


def _ground(style: CellStyle) -> CellStyle:
    """Return a style that has only the background."""
    return CellStyle(bg=style.bg) if style.bg is not None else PLAIN
