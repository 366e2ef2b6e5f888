"""Bitmaps of characters: 16 rows of 8 columns, or of 16 for a wide one.

The font is shipped (see `font/LICENSE.txt`) and read page by page. A character that it lacks is shown as a
box with its number, which tells more than an empty one.
"""

from __future__ import annotations

import unicodedata
import zipfile
from functools import cache, lru_cache
from importlib.resources import files
from io import BytesIO

from muxpilot.pictures.box_glyphs import is_drawn, prompt_sign
from muxpilot.terminal.cells import Cell, is_flag

WIDTH, HEIGHT = 8, 16

Bitmap = tuple[int, ...]  # one number for each row, its highest bit on the left


def bitmap(cell: Cell) -> Bitmap:
    """A cell as it is drawn, with the marks that stand on its character and with its style."""
    wide = cell.width * WIDTH
    rows = _flag(cell.text) if cell.width == 2 and is_flag(cell.text[1:2]) else _fitted(cell.text[0], wide)
    for mark in filter(_is_mark, cell.text[1:]):
        rows = tuple(one | other for one, other in zip(rows, _fitted(mark, wide), strict=True))
    style = cell.style
    if not is_drawn(cell.text):
        rows = _slanted(rows, is_bold=style.bold, is_italic=style.italic)
    ruled = {8: style.strike, 0: style.overline}
    full = (1 << wide) - 1
    return tuple(full if ruled.get(at) else row & full for at, row in enumerate(rows))


def _flag(letters: str) -> Bitmap:
    both = zip(_fitted(letters[0], WIDTH), _fitted(letters[1], WIDTH), strict=True)
    return tuple(first << WIDTH | second for first, second in both)


def _slanted(rows: Bitmap, *, is_bold: bool, is_italic: bool) -> Bitmap:
    if is_bold:
        rows = tuple(row | row >> 1 for row in rows)
    if is_italic:
        rows = tuple(row >> 1 if at < 6 else row << 1 if at > 11 else row for at, row in enumerate(rows))
    return rows


def underline(cell: Cell) -> Bitmap:
    """The line below a cell, for itself: it may have a colour of its own."""
    lines = dict(_UNDERLINES.get(cell.style.underline, ()))
    full = (1 << cell.width * WIDTH) - 1
    return tuple(lines.get(at, 0) & full for at in range(HEIGHT))


# By kind, which rows get which pattern.
_UNDERLINES = {
    1: ((14, 0xFFFF),),
    2: ((13, 0xFFFF), (15, 0xFFFF)),
    3: ((13, 0x6666), (14, 0x9999)),
    4: ((14, 0xAAAA),),
    5: ((14, 0xEEEE),),
}


def _is_mark(char: str) -> bool:
    """Joiners and selectors have no shape of their own; of a joined emoji the first part is shown."""
    return unicodedata.category(char) in ("Mn", "Me") and not 0xFE00 <= ord(char) <= 0xFE0F and has(char)


def has(char: str) -> bool:
    return ord(char) & 255 in _page(ord(char) >> 8)


@lru_cache(4096)
def _fitted(char: str, wide: int) -> Bitmap:
    found = _page(ord(char) >> 8).get(ord(char) & 255)
    if found is None:
        return prompt_sign(ord(char)) or _stand_in(ord(char), wide)
    columns = len(found) // HEIGHT * 4
    digits = columns // 4
    rows = [int(found[at * digits : (at + 1) * digits], 16) for at in range(HEIGHT)]
    if columns < wide:
        return tuple(row << (wide - columns) // 2 for row in rows)
    if columns > wide:  # two columns become one
        return tuple(_squeezed(row, columns) for row in rows)
    return tuple(rows)


def _squeezed(row: int, columns: int) -> int:
    narrow = 0
    for at in range(0, columns, 2):
        narrow = narrow << 1 | bool(row >> (columns - 2 - at) & 3)
    return narrow


def _stand_in(number: int, wide: int) -> Bitmap:
    """A box, and in a wide one also the number: two lines of three digits."""
    edges, full = 1 << (wide - 1) | 1, (1 << wide) - 1
    rows = [0, full, *[edges] * 12, full, 0]
    if wide > WIDTH:
        for at, digit in enumerate(f"{number:06X}"):
            _put(rows, digit, 2 + at % 3 * 4, 2 + at // 3 * 6, wide)
    return tuple(rows)


def _put(rows: list[int], digit: str, column: int, row: int, wide: int) -> None:
    for at, bits in enumerate(_HEX[digit]):
        rows[row + at] |= bits << (wide - 3 - column)


# Digits of three columns and five rows.
_HEX = {
    digit: tuple(map(int, rows))
    for digit, rows in zip(
        "0123456789ABCDEF",
        "75557 26227 71747 71717 55711 74717 74757 71122 75757 75717 "
        "25755 65656 34443 65556 74647 74644".split(),
        strict=True,
    )
}


@cache
def _font() -> zipfile.ZipFile:
    return zipfile.ZipFile(BytesIO(files("muxpilot.pictures").joinpath("font/glyphs.zip").read_bytes()))


@cache
def _page(number: int) -> dict[int, str]:
    try:
        lines = _font().read(f"{number:03X}").decode().split()
    except KeyError:
        return {}
    return {int(line[:2], 16): line[3:] for line in lines}
