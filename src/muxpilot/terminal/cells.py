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
    line: Colour = None  # of the underline; none is the text's own
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

_AS_EMOJI = "\ufe0f"
# Of the characters that only format text, those that take a cell: the soft hyphen, and signs before numbers.
_SPACED = "\u00ad\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f"

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
    39: {"fg": None},
    49: {"bg": None},
    53: {"overline": True},
    55: {"overline": False},
    59: {"line": None},
}
_COLOURED = {38: "fg", 48: "bg", 58: "line"}


def screen(
    lines: Sequence[str],
    columns: int,
    rows: int,
    cursor: tuple[int, int] | None = None,
    *,
    is_joined: bool = True,
) -> Screen:
    """tmux's colours go on from one line to the next; an older one has emoji part by part."""
    reader = _Reader()
    read = [_filled(reader.cells(line), columns, is_joined=is_joined) for line in lines[:rows]]
    read += [[BLANK] * columns for _ in range(rows - len(read))]
    return Screen(read, columns, cursor)


def _filled(cells: Iterator[Cell], columns: int, *, is_joined: bool) -> list[Cell]:
    row: list[Cell] = []
    left = columns
    for cell in cells:
        new = replace(cell, width=2) if is_joined and is_flag(cell.text) else cell
        if row and (new.width == 0 or _joins(row[-1], new.text, is_joined=is_joined)):
            before = row.pop()
            left += before.width
            wide = 2 if is_joined and new.text == _AS_EMOJI and left > 1 else before.width
            new = replace(before, text=before.text + new.text, width=wide)
        if 0 < new.width <= left:
            row.append(new)
            left -= new.width
    return row + [BLANK] * left


def _joins(before: Cell, char: str, *, is_joined: bool) -> bool:
    """What tmux keeps in one cell: what follows a joiner, and in a wide one a skin or a second letter."""
    is_part = "\U0001f3fb" <= char <= "\U0001f3ff" or is_flag(char)
    return before.text.endswith("\u200d") or (is_joined and is_part and before.width == 2)


def is_flag(char: str) -> bool:
    """One of the letters of which two are a flag."""
    return "\U0001f1e6" <= char <= "\U0001f1ff"


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
        return int(char in _SPACED)
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def styled(style: Style, parameters: str) -> Style:
    """A style after one SGR sequence."""
    words = iter(parameters.split(";"))
    for word in words:
        number, *more = [int(part or 0) for part in word.split(":")]
        if number in _COLOURED:
            colour = _colour(more if more else _taken(words), is_one_word=bool(more))
            style = _with(style, _COLOURED[number], colour)
        elif number == 4 and more:
            style = replace(style, underline=more[0])
        elif number == 5 and more:  # tmux 3.3 writes 53, an overline, as 5:3
            style = replace(style, overline=more[0] == 3)
        else:
            style = _simple(style, number)
    return style


def _simple(style: Style, number: int) -> Style:
    if number == 0:
        return PLAIN
    if number in _ON:
        return replace(style, **_ON[number])
    for first, base, name in ((30, 0, "fg"), (40, 0, "bg"), (90, 8, "fg"), (100, 8, "bg")):
        if first <= number < first + 8:
            return _with(style, name, base + number - first)
    return style


def _with(style: Style, name: str, colour: Colour) -> Style:
    changed: dict[str, Any] = {name: colour}
    return replace(style, **changed)


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
