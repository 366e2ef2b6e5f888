"""Characters that are shapes, not letters: they meet from cell to cell, and have no bold or italic."""

from __future__ import annotations

from collections.abc import Callable

_RANGES = (
    (0x2500, 0x259F),  # boxes and blocks
    (0x2800, 0x28FF),  # braille
    (0xE0A0, 0xE0BF),  # what prompts are made of, known as Powerline
    (0x1FB00, 0x1FBAF),  # blocks of old computers
)


def is_drawn(text: str) -> bool:
    return len(text) == 1 and any(first <= ord(text) <= last for first, last in _RANGES)


# How far an edge stands from the left in each of 16 rows: a point, a half circle, and two slopes.
_EDGES: tuple[Callable[[int], int], ...] = (
    lambda row: 1 + min(row, 15 - row),
    lambda row: max(1, round((64 - (row - 7.5) ** 2) ** 0.5)),
    lambda row: 1 + row // 2,
    lambda row: 8 - row // 2,
)
# From the left, full and as a line; from the right, likewise.
_SIDES: tuple[Callable[[int], int], ...] = (
    lambda width: 0xFF << 8 - width & 0xFF,
    lambda width: 1 << 8 - width,
    lambda width: (1 << width) - 1,
    lambda width: 1 << width - 1,
)
_SIGNS = {
    0xE0A0: "00 46 4F 46 46 46 46 4C 58 70 60 40 40 40 40 00",  # a branch
    0xE0A1: "00 40 40 40 40 40 7C 00 00 12 1A 1A 16 16 12 00",  # LN
    0xE0A2: "00 00 3C 66 66 66 66 FF FF E7 E7 FF FF FF 00 00",  # a lock
}


def prompt_sign(number: int) -> tuple[int, ...] | None:
    """The rows of a sign that no font of Unicode has, because its number is private; 8 columns each."""
    if number in _SIGNS:
        return tuple(int(row, 16) for row in _SIGNS[number].split())
    if not 0xE0B0 <= number <= 0xE0BF:
        return None
    kind, rest = divmod(number - 0xE0B0, 4)
    return tuple(_SIDES[rest](_EDGES[kind](row)) for row in range(16))
