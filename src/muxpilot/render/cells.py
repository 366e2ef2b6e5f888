"""What `capture-pane -e` says, as cells: each with its text, its width and how it looks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

Colour = int | tuple[int, int, int] | None  # one of 256, a true colour, or the theme's own


@dataclass(frozen=True, slots=True)
class Style:
    fg: Colour = None
    bg: Colour = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: int = 0  # 1 single, 2 double, 3 curly, 4 dotted, 5 dashed
    reverse: bool = False
    hidden: bool = False
    strike: bool = False
    overline: bool = False


PLAIN = Style()


@dataclass(frozen=True, slots=True)
class Cell:
    """One character with the marks that stand on it; a wide one takes two columns."""

    text: str = " "
    width: int = 1
    style: Style = PLAIN


BLANK = Cell()


@dataclass(frozen=True, slots=True)
class Screen:
    """Rows that are all as wide as the pane; the cursor's column and row, if it shows."""

    rows: Sequence[Sequence[Cell]]
    columns: int
    cursor: tuple[int, int] | None = None


# Which marks stand in the text: SGR, any other sequence, the switch to line drawing and back, one character.
_PIECE = re.compile(
    r"\x1b\[(?P<sgr>[0-9;:]*)m"
    r"|(?P<skip>\x1b\[[0-9;:?<=>!\"'$ ]*[@-~]|\x1b[\]P_^X].*?(?:\x1b\\|\x07|$)|\x1b.?)"
    r"|(?P<shift>[\x0e\x0f])"
    r"|(?P<char>.)",
    re.DOTALL,
)

# DEC's line drawing: what the letters from ` to ~ mean then.
_LINES = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"
_DRAWN = {chr(0x60 + at): char for at, char in enumerate(_LINES)}

_ON: dict[int, dict[str, Any]] = {
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
    53: {"overline": True},
    55: {"overline": False},
}


def screen(lines: Sequence[str], columns: int, rows: int, cursor: tuple[int, int] | None = None) -> Screen:
    """tmux's colours go on from one line to the next."""
    reader = _Reader()
    read = [_filled(reader.cells(line), columns) for line in lines[:rows]]
    read += [[BLANK] * columns for _ in range(rows - len(read))]
    return Screen(read, columns, cursor)


def _filled(cells: Iterator[Cell], columns: int) -> list[Cell]:
    row: list[Cell] = []
    used = 0
    for cell in cells:
        if cell.width == 0 or (row and _joins(row[-1].text, cell.text)):
            if row:
                row[-1] = replace(row[-1], text=row[-1].text + cell.text)
        elif used + cell.width <= columns:
            row.append(cell)
            used += cell.width
    return row + [BLANK] * (columns - used)


def _joins(before: str, char: str) -> bool:
    """What tmux keeps in one cell: what follows a joiner, and the colour of a skin."""
    return before.endswith("\u200d") or "\U0001f3fb" <= char <= "\U0001f3ff"


class _Reader:
    """The pen, as it stands after all that was read."""

    def __init__(self) -> None:
        self._style = PLAIN
        self._is_drawing = False

    def cells(self, line: str) -> Iterator[Cell]:
        for piece in _PIECE.finditer(line):
            if piece["sgr"] is not None:
                self._style = styled(self._style, piece["sgr"])
            elif piece["shift"]:
                self._is_drawing = piece["shift"] == "\x0e"
            elif piece["char"]:
                char = _DRAWN.get(piece["char"], piece["char"]) if self._is_drawing else piece["char"]
                yield Cell(char, width(char), self._style)


def width(char: str) -> int:
    if char.isascii():
        return 1 if char.isprintable() else 0
    if unicodedata.category(char) in ("Mn", "Me", "Cf", "Cc"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def styled(style: Style, parameters: str) -> Style:
    """A style after one SGR sequence."""
    words = iter(parameters.split(";"))
    for word in words:
        number, *more = [int(part or 0) for part in word.split(":")]
        if number in (38, 48, 58):
            colour = _colour(more if more else _taken(words), is_one_word=bool(more))
            style = style if number == 58 else _on(style, colour, is_ground=number == 48)
        elif number == 4 and more:
            style = replace(style, underline=more[0])
        else:
            style = _simple(style, number)
    return style


def _simple(style: Style, number: int) -> Style:
    if number == 0:
        return PLAIN
    if number in _ON:
        return replace(style, **_ON[number])
    for first, base, is_ground in ((30, 0, False), (40, 0, True), (90, 8, False), (100, 8, True)):
        if first <= number < first + 8:
            return _on(style, base + number - first, is_ground=is_ground)
    return _on(style, None, is_ground=number == 49) if number in (39, 49) else style


def _on(style: Style, colour: Colour, *, is_ground: bool) -> Style:
    return replace(style, bg=colour) if is_ground else replace(style, fg=colour)


def _taken(words: Iterator[str]) -> list[int]:
    """The words of a colour that stand behind its number: how many, their first one says."""
    kind = int(next(words, "") or 0)
    return [kind, *(int(next(words, "") or 0) for _ in range({5: 1, 2: 3}.get(kind, 0)))]


def _colour(words: Sequence[int], *, is_one_word: bool) -> Colour:
    """`38;2;r;g;b` and `38:2::r:g:b`, `38;5;n` and `38:5:n`."""
    kind, *parts = words
    if kind == 5:
        return (parts or [0])[0] & 255
    if kind != 2:
        return None
    red, green, blue = (*(parts[-3:] if is_one_word else parts), 0, 0, 0)[:3]
    return red & 255, green & 255, blue & 255
