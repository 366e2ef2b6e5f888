"""A screen as a PNG: each cell to the pixel, a palette as long as 256 colours are enough.

Written by ourselves: a picture of cells is a few joined pieces for each line of pixels, and zlib.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from muxpilot.render.cells import Cell, Screen
from muxpilot.render.glyphs import HEIGHT, WIDTH, bitmap
from muxpilot.render.palette import Rgb, Theme, colours

# What models look at without shrinking it: a screen that fits at twice the size is shown so.
_LARGEST_SIDE = 1568
_MARGIN = 8
_MOST_COLOURS = 256

Pixel = Callable[[Rgb], bytes]
Look = tuple[tuple[int, ...], int, Rgb, Rgb]  # bitmap, columns of pixels, text and ground


def png(screen: Screen, theme: Theme) -> bytes:
    rows = [list(_looks(screen, theme, at)) for at in range(len(screen.rows))]
    used = dict.fromkeys((theme.bg, *(colour for row in rows for look in row for colour in look[2:])))
    has_palette = len(used) <= _MOST_COLOURS
    numbers = {colour: bytes([at]) for at, colour in enumerate(used)} if has_palette else {}
    scale = _scale(screen)
    pixels = _pixels(rows, theme, numbers.__getitem__ if has_palette else bytes, scale)
    palette = _chunk(b"PLTE", b"".join(map(bytes, used))) if has_palette else b""
    size = (screen.columns * WIDTH * scale + 2 * _MARGIN, len(rows) * HEIGHT * scale + 2 * _MARGIN)
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, 3 if has_palette else 2, 0, 0, 0))
    body = _chunk(b"IDAT", zlib.compress(pixels, 9))
    return b"\x89PNG\r\n\x1a\n" + head + palette + body + _chunk(b"IEND", b"")


def _scale(screen: Screen) -> int:
    longest = max(screen.columns * WIDTH, len(screen.rows) * HEIGHT)
    return 2 if longest * 2 + 2 * _MARGIN <= _LARGEST_SIDE else 1


def _looks(screen: Screen, theme: Theme, row: int) -> Iterator[Look]:
    column = 0
    for cell in screen.rows[row]:
        is_cursor = screen.cursor is not None and screen.cursor[1] == row and _holds(cell, column, screen)
        yield (_bitmap(cell), cell.width * WIDTH, *colours(theme, cell.style, is_cursor=is_cursor))
        column += cell.width


def _holds(cell: Cell, column: int, screen: Screen) -> bool:
    return screen.cursor is not None and column <= screen.cursor[0] < column + cell.width


@lru_cache(4096)
def _bitmap(cell: Cell) -> tuple[int, ...]:
    return bitmap(cell)


def _pixels(rows: Sequence[Sequence[Look]], theme: Theme, pixel: Pixel, scale: int) -> bytes:
    """Lines of pixels, each behind a byte that says that it is stored as it is."""
    blank = pixel(theme.bg)
    width = sum(look[1] for look in rows[0]) * scale if rows else 0
    empty = b"\0" + blank * (width + 2 * _MARGIN)
    side = blank * _MARGIN
    pieces: dict[Look, list[bytes]] = {}
    lines = [empty] * _MARGIN
    for row in rows:
        columns = [pieces.get(look) or pieces.setdefault(look, _piece(look, pixel, scale)) for look in row]
        for parts in zip(*columns, strict=True):
            lines += [b"".join((b"\0", side, *parts, side))] * scale
    return b"".join((*lines, *[empty] * _MARGIN))


def _piece(look: Look, pixel: Pixel, scale: int) -> list[bytes]:
    """The lines of pixels of one cell."""
    rows, columns, text, ground = look
    choice = (pixel(ground) * scale, pixel(text) * scale)
    return [b"".join(choice[row >> (columns - 1 - at) & 1] for at in range(columns)) for row in rows]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
