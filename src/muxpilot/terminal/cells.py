"""Parse the output of `capture-pane -e` into cells: each has its text, its width and its style."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muxpilot.terminal.width import cell_width, is_flag_letter

Colour = int | tuple[int, int, int] | None  # one of 256 colours, a true colour, or the default of the theme


@dataclass(frozen=True, slots=True)
class CellStyle:
    """Colours and attributes of a cell."""

    fg: Colour = None
    bg: Colour = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: int = 0  # 1 single, 2 double, 3 curly, 4 dotted, 5 dashed
    line: Colour = None  # of the underline; None is the colour of the text
    reverse: bool = False
    hidden: bool = False
    strike: bool = False
    overline: bool = False


PLAIN = CellStyle()


@dataclass(frozen=True, slots=True)
class ScreenCell:
    """One character with the combining marks on it; a wide one takes two columns."""

    text: str = " "
    width: int = 1
    style: CellStyle = PLAIN


BLANK = ScreenCell()


@dataclass(frozen=True, slots=True)
class CellGrid:
    """A screen as rows of cells, all as wide as the pane; `cursor` is its column and row, None if hidden."""

    rows: Sequence[Sequence[ScreenCell]]
    columns: int
    cursor: tuple[int, int] | None = None


# SGR, any other sequence, the switch to line drawing and back, or one character.
_PIECE = re.compile(
    r"\x1b\[(?P<sgr>[0-9;:]*)m"
    r"|(?P<skip>\x1b\[[0-9;:?<=>!\"'$ ]*[@-~]|\x1b[\]P_^X].*?(?:\x1b\\|\x07|$)|\x1b.?)"
    r"|(?P<shift>[\x0e\x0f])"
    r"|(?P<char>.)",
    re.DOTALL,
)

# The characters that ` to ~ mean in DEC's line drawing set.
_LINES = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"
_DRAWN = {chr(0x60 + at): char for at, char in enumerate(_LINES)}

_AS_EMOJI = "\ufe0f"

_ATTRIBUTES: dict[int, dict[str, Any]] = {
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {"underline": 1},
    7: {"reverse": True},
    8: {"hidden": True},
    9: {"strike": True},
    21: {"underline": 2},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": 0},
    27: {"reverse": False},
    28: {"hidden": False},
    29: {"strike": False},
    39: {"fg": None},
    49: {"bg": None},
    53: {"overline": True},
    55: {"overline": False},
    59: {"line": None},
}
_COLOUR_FIELDS = {38: "fg", 48: "bg", 58: "line"}


def parse_screen(
    lines: Sequence[str],
    columns: int,
    rows: int,
    cursor: tuple[int, int] | None = None,
    *,
    is_joined: bool = True,
) -> CellGrid:
    """Parse the lines of a capture. In tmux's output a style continues on the next line.

    `is_joined`: this tmux keeps an emoji of several characters in one cell; older ones use a cell for each.
    """
    reader = _CellParser()
    read = [_fill_row(reader.parse_line(line), columns, is_joined=is_joined) for line in lines[:rows]]
    read += [[BLANK] * columns for _ in range(rows - len(read))]
    return CellGrid(read, columns, cursor)


def _fill_row(cells: Iterator[ScreenCell], columns: int, *, is_joined: bool) -> list[ScreenCell]:
    row: list[ScreenCell] = []
    left = columns
    for cell in cells:
        new = replace(cell, width=2) if is_joined and is_flag_letter(cell.text) else cell
        if row and (new.width == 0 or _is_same_cell(row[-1], new.text, is_joined=is_joined)):
            before = row.pop()
            left += before.width
            wide = 2 if is_joined and new.text == _AS_EMOJI and left > 1 else before.width
            new = replace(before, text=before.text + new.text, width=wide)
        if 0 < new.width <= left:
            row.append(new)
            left -= new.width
    return row + [BLANK] * left


def _is_same_cell(before: ScreenCell, char: str, *, is_joined: bool) -> bool:
    """Return True if tmux keeps the character in the cell before it.

    That is the case after a joiner, and in a wide cell for a skin tone or the second letter of a flag.
    """
    is_part = "\U0001f3fb" <= char <= "\U0001f3ff" or is_flag_letter(char)
    return before.text.endswith("\u200d") or (is_joined and is_part and before.width == 2)


class _CellParser:
    """Parses lines one after another; style and character set continue from line to line."""

    def __init__(self) -> None:
        self._style = PLAIN
        self._is_drawing = False

    def parse_line(self, line: str) -> Iterator[ScreenCell]:
        """Yield the cells of a line."""
        for piece in _PIECE.finditer(line):
            if piece["sgr"] is not None:
                self._style = apply_sgr(self._style, piece["sgr"])
            elif piece["shift"]:
                self._is_drawing = piece["shift"] == "\x0e"
            elif piece["char"]:
                char = _DRAWN.get(piece["char"], piece["char"]) if self._is_drawing else piece["char"]
                yield ScreenCell(char, cell_width(char), self._style)


def apply_sgr(style: CellStyle, parameters: str) -> CellStyle:
    """Return the style after one SGR sequence with these parameters."""
    words = iter(parameters.split(";"))
    for word in words:
        number, *more = [int(part or 0) for part in word.split(":")]
        if number in _COLOUR_FIELDS:
            colour = _parse_colour(more if more else _take_colour_numbers(words), is_one_word=bool(more))
            style = _with_colour(style, _COLOUR_FIELDS[number], colour)
        elif number == 4 and more:
            style = replace(style, underline=more[0])
        elif number == 5 and more:  # tmux 3.3 writes 53 (overline) as 5:3
            style = replace(style, overline=more[0] == 3)
        else:
            style = _apply_number(style, number)
    return style


def _apply_number(style: CellStyle, number: int) -> CellStyle:
    if number == 0:
        return PLAIN
    if number in _ATTRIBUTES:
        return replace(style, **_ATTRIBUTES[number])
    for first, base, name in ((30, 0, "fg"), (40, 0, "bg"), (90, 8, "fg"), (100, 8, "bg")):
        if first <= number < first + 8:
            return _with_colour(style, name, base + number - first)
    return style


def _with_colour(style: CellStyle, name: str, colour: Colour) -> CellStyle:
    changed: dict[str, Any] = {name: colour}
    return replace(style, **changed)


def _take_colour_numbers(words: Iterator[str]) -> list[int]:
    """Take the numbers of a colour after 38, 48 or 58; the first one says how many follow."""
    kind = int(next(words, "") or 0)
    return [kind, *(int(next(words, "") or 0) for _ in range({5: 1, 2: 3}.get(kind, 0)))]


def _parse_colour(words: Sequence[int], *, is_one_word: bool) -> Colour:
    """Parse the numbers of `38;2;r;g;b`, `38:2::r:g:b`, `38;5;n` or `38:5:n`."""
    kind, *parts = words
    if kind == 5:
        return (parts or [0])[0] & 255
    if kind != 2:
        return None
    red, green, blue = (*(parts[-3:] if is_one_word else parts), 0, 0, 0)[:3]
    return red & 255, green & 255, blue & 255
