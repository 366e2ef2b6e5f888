"""A screen as lines of pixels, each the number of its colour: what PNG and GIF are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from muxpilot.pictures.glyphs import WIDTH, Bitmap, bitmap, underline
from muxpilot.pictures.palette import Rgb, Theme, colours, line_colour
from muxpilot.terminal.cells import Cell, Screen

MARGIN = 8

# Bitmaps of the character and of its underline, columns of pixels, colours of text, ground and underline.
Look = tuple[Bitmap, Bitmap, int, Rgb, Rgb, Rgb]
Row = Sequence[Look]
Number = Callable[[Rgb], int]


def looks(screen: Screen, theme: Theme) -> list[Row]:
    return [list(_row(screen, theme, at)) for at in range(len(screen.rows))]


def _row(screen: Screen, theme: Theme, row: int) -> Iterator[Look]:
    column = 0
    for cell in screen.rows[row]:
        is_cursor = screen.cursor is not None and screen.cursor[1] == row and _holds(cell, column, screen)
        text, ground = colours(theme, cell.style, is_cursor=is_cursor)
        line = line_colour(theme, cell.style, text)
        yield (*_bitmaps(cell), cell.width * WIDTH, text, ground, line)
        column += cell.width


def _holds(cell: Cell, column: int, screen: Screen) -> bool:
    return screen.cursor is not None and column <= screen.cursor[0] < column + cell.width


@lru_cache(4096)
def _bitmaps(cell: Cell) -> tuple[Bitmap, Bitmap]:
    return bitmap(cell), underline(cell)


def used_colours(rows: Iterable[Row], theme: Theme) -> list[Rgb]:
    """Each once; the ground's own is the first."""
    return list(dict.fromkeys((theme.bg, *(colour for row in rows for look in row for colour in look[3:]))))


def pixels(rows: Iterable[Row], number: Number, depth: int, scale: int = 1) -> Iterator[bytes]:
    """The lines from top to bottom, with so many bits for a pixel, which is drawn `scale` times as large."""
    pieces: dict[Look, list[bytes]] = {}
    for row in rows:
        columns = [
            pieces.get(look) or pieces.setdefault(look, _piece(look, number, depth, scale)) for look in row
        ]
        for parts in zip(*columns, strict=True):
            yield from [b"".join(parts)] * scale


def _piece(look: Look, number: Number, depth: int, scale: int) -> list[bytes]:
    """The lines of one cell; 8 columns are whole bytes at every depth."""
    glyph, below, columns, *used = look
    text, ground, line = map(number, used)
    return [
        packed(
            (
                line if under >> at & 1 else text if row >> at & 1 else ground
                for at in reversed(range(columns))
                for _ in range(scale)
            ),
            depth,
        )
        for row, under in zip(glyph, below, strict=True)
    ]


def packed(numbers: Iterable[int], depth: int) -> bytes:
    value, count = 0, 0
    for number in numbers:
        value = value << depth | number
        count += depth
    return value.to_bytes(count // 8)
