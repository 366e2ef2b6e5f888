"""Themes: the colours in which cells are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from muxpilot.terminal.cells import CellStyle, Colour

Rgb = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Theme:
    """Default colours of text and background, and the 16 ANSI colours."""

    fg: Rgb
    bg: Rgb
    ansi: tuple[Rgb, ...]


def _parse_hex(words: str) -> tuple[Rgb, ...]:
    return tuple((int(word[:2], 16), int(word[2:4], 16), int(word[4:], 16)) for word in words.split())


DARK = Theme(
    fg=(0xD8, 0xDC, 0xE2),
    bg=(0x14, 0x17, 0x1C),
    ansi=_parse_hex(
        "464d58 e0565b 6fbf5f d9a83c 5b93e6 c178d8 4fb8bf c4c9d1"
        " 6b7480 ff7b7f 93dd82 f7cb66 85b4ff dd9df0 7adbe1 ffffff"
    ),
)
LIGHT = Theme(
    fg=(0x1F, 0x24, 0x2B),
    bg=(0xFF, 0xFF, 0xFF),
    ansi=_parse_hex(
        "1f242b b3202a 1d7a2c 8a5a00 1a56b8 8a2ba3 0a6e78 6b7480"
        " 59626e d1353f 2a9a3c a87000 2f70db a744c2 128893 8a929d"
    ),
)
THEMES: Mapping[str, Theme] = {"dark": DARK, "light": LIGHT}

_STEPS = (0, 95, 135, 175, 215, 255)


def to_rgb(theme: Theme, colour: Colour, otherwise: Rgb) -> Rgb:
    """Return a colour of a cell; `otherwise` where it has none.

    Of the 256 colours, the first 16 are the theme's, then come a cube of six steps and 24 greys.
    """
    if colour is None:
        return otherwise
    if not isinstance(colour, int):
        return colour
    if colour < 16:
        return theme.ansi[colour]
    if colour >= 232:
        return (8 + (colour - 232) * 10,) * 3
    rest = colour - 16
    return _STEPS[rest // 36], _STEPS[rest // 6 % 6], _STEPS[rest % 6]


def cell_colours(theme: Theme, style: CellStyle, *, is_cursor: bool = False) -> tuple[Rgb, Rgb]:
    """Return the colours of a cell's text and background after reverse, dim, hidden and the cursor."""
    fg, bg = to_rgb(theme, style.fg, theme.fg), to_rgb(theme, style.bg, theme.bg)
    if style.reverse != is_cursor:
        fg, bg = bg, fg
    if style.dim:
        fg = _dim(fg, bg)
    return (bg if style.hidden else fg), bg


def underline_colour(theme: Theme, style: CellStyle, text: Rgb) -> Rgb:
    """Return the colour of an underline below text of this colour."""
    return text if style.hidden else to_rgb(theme, style.line, text)


def _dim(one: Rgb, other: Rgb) -> Rgb:
    red, green, blue = ((a * 5 + b * 4) // 9 for a, b in zip(one, other, strict=True))
    return red, green, blue


def to_hex(colour: Rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
