"""Encode a screen as PNG, with a palette of as few bits as its colours need, up to 256 colours.

This needs no image library: each line of pixels is a few joined pieces, and zlib does the rest.
"""

from __future__ import annotations

import struct
import zlib

from muxpilot.pictures.glyphs import HEIGHT, WIDTH
from muxpilot.pictures.palette import Rgb, Theme
from muxpilot.pictures.pixels import (
    MARGIN,
    ColourNumber,
    draw_lines,
    list_colours,
    pack_numbers,
    resolve_looks,
)
from muxpilot.terminal.cells import CellGrid

# Models shrink larger pictures. A screen that fits at twice the size is drawn at twice the size.
_LARGEST_SIDE = 1568
_DEPTHS = (1, 2, 4, 8)  # bits of a pixel that is a number in the palette
_TRUE = 24
_PALETTE, _NO_PALETTE = (3, 2)
_EFFORT = 8  # 9 takes longer and is not smaller


def encode_png(screen: CellGrid, theme: Theme) -> bytes:
    """Return the PNG file of a screen."""
    rows = resolve_looks(screen, theme)
    used = list_colours(rows, theme)
    depth = next((bits for bits in _DEPTHS if len(used) <= 1 << bits), _TRUE)
    scale = _choose_scale(screen)
    wide, high = screen.columns * WIDTH * scale + 2 * MARGIN, len(rows) * HEIGHT * scale + 2 * MARGIN
    number: ColourNumber = (
        _true_colour if depth == _TRUE else {colour: at for at, colour in enumerate(used)}.__getitem__
    )
    kind, palette = (8, _NO_PALETTE), b""
    if depth != _TRUE:
        kind = (depth, _PALETTE)
        palette = _encode_chunk(b"PLTE", b"".join(map(bytes, used)))
    side = pack_numbers([number(theme.bg)] * MARGIN, depth)
    empty = b"\0" + side * (wide // MARGIN)
    # The byte before each line says that the line is stored without a filter.
    lines = (b"".join((b"\0", side, line, side)) for line in draw_lines(rows, number, depth, scale))
    body = zlib.compress(b"".join((empty * MARGIN, *lines, empty * MARGIN)), _EFFORT)
    head = _encode_chunk(b"IHDR", struct.pack(">IIBBBBB", wide, high, *kind, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + palette + _encode_chunk(b"IDAT", body) + _encode_chunk(b"IEND", b"")


def _choose_scale(screen: CellGrid) -> int:
    longest = max(screen.columns * WIDTH, len(screen.rows) * HEIGHT)
    return 2 if longest * 2 + 2 * MARGIN <= _LARGEST_SIDE else 1


def _true_colour(colour: Rgb) -> int:
    return int.from_bytes(bytes(colour))


def _encode_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
