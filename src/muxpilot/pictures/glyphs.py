"""Bitmaps of characters: 16 rows of 8 columns, or of 16 columns for a wide character.

The font is part of the package (see `font/LICENSE.txt`) and is read one page of 256 characters at a time. A
character that it lacks is drawn as a box with its code point.
"""

from __future__ import annotations

import zipfile
from functools import cache, lru_cache
from importlib.resources import files
from io import BytesIO

from muxpilot.pictures.box_glyphs import draw_powerline, is_shape_character
from muxpilot.terminal.cells import ScreenCell
from muxpilot.terminal.width import is_flag_letter, is_nonspacing_mark

WIDTH, HEIGHT = 8, 16

Bitmap = tuple[int, ...]  # one number for each row; the highest bit is the leftmost pixel


def draw_cell(cell: ScreenCell) -> Bitmap:
    """Draw a cell with the combining marks on its character and with its style, except the underline."""
    wide = cell.width * WIDTH
    rows = (
        _draw_flag(cell.text)
        if cell.width == 2 and is_flag_letter(cell.text[1:2])
        else _fit_glyph(cell.text[0], wide)
    )
    for mark in filter(_is_visible_mark, cell.text[1:]):
        rows = tuple(one | other for one, other in zip(rows, _fit_glyph(mark, wide), strict=True))
    style = cell.style
    if not is_shape_character(cell.text):
        rows = _embolden_or_slant(rows, is_bold=style.bold, is_italic=style.italic)
    ruled = {8: style.strike, 0: style.overline}
    full = (1 << wide) - 1
    return tuple(full if ruled.get(at) else row & full for at, row in enumerate(rows))


def _draw_flag(letters: str) -> Bitmap:
    both = zip(_fit_glyph(letters[0], WIDTH), _fit_glyph(letters[1], WIDTH), strict=True)
    return tuple(first << WIDTH | second for first, second in both)


def _embolden_or_slant(rows: Bitmap, *, is_bold: bool, is_italic: bool) -> Bitmap:
    if is_bold:
        rows = tuple(row | row >> 1 for row in rows)
    if is_italic:
        rows = tuple(row >> 1 if at < 6 else row << 1 if at > 11 else row for at, row in enumerate(rows))
    return rows


def draw_underline(cell: ScreenCell) -> Bitmap:
    """Draw the underline of a cell separately: it may have another colour than the text."""
    lines = dict(_UNDERLINES.get(cell.style.underline, ()))
    full = (1 << cell.width * WIDTH) - 1
    return tuple(lines.get(at, 0) & full for at in range(HEIGHT))


# For each kind of underline, the rows and their patterns.
_UNDERLINES = {
    1: ((14, 0xFFFF),),
    2: ((13, 0xFFFF), (15, 0xFFFF)),
    3: ((13, 0x6666), (14, 0x9999)),
    4: ((14, 0xAAAA),),
    5: ((14, 0xEEEE),),
}


def _is_visible_mark(char: str) -> bool:
    """Return True for a mark that has a shape. Joiners and selectors have none."""
    return is_nonspacing_mark(char) and not 0xFE00 <= ord(char) <= 0xFE0F and has_glyph(char)


def has_glyph(char: str) -> bool:
    return ord(char) & 255 in _read_font_page(ord(char) >> 8)


@lru_cache(4096)
def _fit_glyph(char: str, wide: int) -> Bitmap:
    found = _read_font_page(ord(char) >> 8).get(ord(char) & 255)
    if found is None:
        return draw_powerline(ord(char)) or _draw_missing_glyph(ord(char), wide)
    columns = len(found) // HEIGHT * 4
    digits = columns // 4
    rows = [int(found[at * digits : (at + 1) * digits], 16) for at in range(HEIGHT)]
    if columns < wide:
        return tuple(row << (wide - columns) // 2 for row in rows)
    if columns > wide:  # join each two columns into one
        return tuple(_halve_row(row, columns) for row in rows)
    return tuple(rows)


def _halve_row(row: int, columns: int) -> int:
    narrow = 0
    for at in range(0, columns, 2):
        narrow = narrow << 1 | bool(row >> (columns - 2 - at) & 3)
    return narrow


def _draw_missing_glyph(number: int, wide: int) -> Bitmap:
    """Draw a box; a wide one also has the code point in two lines of three digits."""
    edges, full = 1 << (wide - 1) | 1, (1 << wide) - 1
    rows = [0, full, *[edges] * 12, full, 0]
    if wide > WIDTH:
        for at, digit in enumerate(f"{number:06X}"):
            _draw_digit(rows, digit, 2 + at % 3 * 4, 2 + at // 3 * 6, wide)
    return tuple(rows)


def _draw_digit(rows: list[int], digit: str, column: int, row: int, wide: int) -> None:
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
def _open_font() -> zipfile.ZipFile:
    return zipfile.ZipFile(BytesIO(files("muxpilot.pictures").joinpath("font/glyphs.zip").read_bytes()))


@cache
def _read_font_page(number: int) -> dict[int, str]:
    try:
        lines = _open_font().read(f"{number:03X}").decode().split()
    except KeyError:
        return {}
    return {int(line[:2], 16): line[3:] for line in lines}
