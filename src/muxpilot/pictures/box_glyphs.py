"""Characters that are shapes, not letters: they touch the next cell and have no bold or italic form."""

from __future__ import annotations

from collections.abc import Callable

_RANGES = (
    (0x2500, 0x259F),  # boxes and blocks
    (0x2800, 0x28FF),  # braille
    (0xE0A0, 0xE0BF),  # Powerline, which prompts are made of
    (0x1FB00, 0x1FBAF),  # blocks of old computers
)


def is_shape_character(text: str) -> bool:
    return len(text) == 1 and any(first <= ord(text) <= last for first, last in _RANGES)


# How far an edge is from the left in each of 16 rows: a point, a half circle, and two slopes.
_EDGES: tuple[Callable[[int], int], ...] = (
    lambda row: 1 + min(row, 15 - row),
    lambda row: max(1, round((64 - (row - 7.5) ** 2) ** 0.5)),
    lambda row: 1 + row // 2,
    lambda row: 8 - row // 2,
)
# A row of pixels up to the edge: from the left, filled and as a line; from the right, filled and as a line.
_SIDES: tuple[Callable[[int], int], ...] = (
    lambda width: 0xFF << 8 - width & 0xFF,
    lambda width: 1 << 8 - width,
    lambda width: (1 << width) - 1,
    lambda width: 1 << width - 1,
)
_SYMBOLS = {
    0xE0A0: "00 46 4F 46 46 46 46 4C 58 70 60 40 40 40 40 00",  # a branch
    0xE0A1: "00 40 40 40 40 40 7C 00 00 12 1A 1A 16 16 12 00",  # LN
    0xE0A2: "00 00 3C 66 66 66 66 FF FF E7 E7 FF FF FF 00 00",  # a lock
}


def draw_powerline(number: int) -> tuple[int, ...] | None:
    """Return the 16 rows of a Powerline symbol, 8 columns each; None for any other character.

    Its code point is for private use, so the shipped Unicode font has no glyph for it.
    """
    if number in _SYMBOLS:
        return tuple(int(row, 16) for row in _SYMBOLS[number].split())
    if not 0xE0B0 <= number <= 0xE0BF:
        return None
    kind, rest = divmod(number - 0xE0B0, 4)
    return tuple(_SIDES[rest](_EDGES[kind](row)) for row in range(16))
