"""A screen as a PNG: each cell to the pixel, a palette of as few bits as its colours need, up to 256 of them.

Written by ourselves: a picture of cells is a few joined pieces for each line of pixels, and zlib.
"""

from __future__ import annotations

import struct
import zlib

from muxpilot.pictures.glyphs import HEIGHT, WIDTH
from muxpilot.pictures.palette import Rgb, Theme
from muxpilot.pictures.pixels import MARGIN, Number, looks, packed, pixels, used_colours
from muxpilot.terminal.cells import Screen

# What models look at without shrinking it: a screen that fits at twice the size is shown so.
_LARGEST_SIDE = 1568
_DEPTHS = (1, 2, 4, 8)  # bits of a pixel that is a number in the palette
_TRUE = 24
_PALETTE, _NO_PALETTE = (3, 2)
_EFFORT = 8  # 9 takes longer, and is no smaller


def png(screen: Screen, theme: Theme) -> bytes:
    rows = looks(screen, theme)
    used = used_colours(rows, theme)
    depth = next((bits for bits in _DEPTHS if len(used) <= 1 << bits), _TRUE)
    scale = _scale(screen)
    wide, high = screen.columns * WIDTH * scale + 2 * MARGIN, len(rows) * HEIGHT * scale + 2 * MARGIN
    number: Number = _true if depth == _TRUE else {colour: at for at, colour in enumerate(used)}.__getitem__
    kind, palette = (8, _NO_PALETTE), b""
    if depth != _TRUE:
        kind = (depth, _PALETTE)
        palette = _chunk(b"PLTE", b"".join(map(bytes, used)))
    side = packed([number(theme.bg)] * MARGIN, depth)
    empty = b"\0" + side * (wide // MARGIN)
    # Each line stands behind a byte that says that it is stored as it is.
    lines = (b"".join((b"\0", side, line, side)) for line in pixels(rows, number, depth, scale))
    body = zlib.compress(b"".join((empty * MARGIN, *lines, empty * MARGIN)), _EFFORT)
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", wide, high, *kind, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + palette + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _scale(screen: Screen) -> int:
    longest = max(screen.columns * WIDTH, len(screen.rows) * HEIGHT)
    return 2 if longest * 2 + 2 * MARGIN <= _LARGEST_SIDE else 1


def _true(colour: Rgb) -> int:
    return int.from_bytes(bytes(colour))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
