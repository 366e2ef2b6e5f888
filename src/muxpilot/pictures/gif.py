"""Encode screens as an animated GIF: each frame has only the rows that changed, and its own palette.

This needs no image library: the format is a table of colours and LZW compression.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence

from muxpilot.pictures.glyphs import HEIGHT, WIDTH
from muxpilot.pictures.palette import Rgb, Theme
from muxpilot.pictures.pixels import MARGIN, LookRow, draw_lines, list_colours, resolve_looks
from muxpilot.terminal.cells import CellGrid

_FOR_EVER = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0"
_MOST_COLOURS = 256
_LONGEST_CS = 65_535
_MOST_CODES = 4096
_BLOCK = 255

Frame = tuple[CellGrid, float]  # a screen, and for how many seconds it is shown


def encode_gif(frames: Iterable[Frame], theme: Theme) -> Iterator[bytes]:
    """Yield the parts of the file. All screens must be as large as the first."""
    before: list[LookRow] = []
    for screen, seconds in frames:
        rows = resolve_looks(screen, theme)
        wide, high = screen.columns * WIDTH + 2 * MARGIN, len(rows) * HEIGHT + 2 * MARGIN
        delay = b"\x21\xf9\x04\x04" + struct.pack("<HBB", min(round(seconds * 100), _LONGEST_CS), 0, 0)
        if not before:
            yield b"GIF89a" + struct.pack("<HHBBB", wide, high, 0, 0, 0) + _FOR_EVER
            yield delay + _encode_image(rows, theme, (0, 0, wide, high), MARGIN)
        else:
            first, last = _find_changed_rows(before, rows)
            place = (MARGIN, MARGIN + first * HEIGHT, wide - 2 * MARGIN, (last - first) * HEIGHT)
            yield delay + _encode_image(rows[first:last], theme, place, 0)
        before = rows
    yield b"\x3b"


def _find_changed_rows(before: Sequence[LookRow], rows: Sequence[LookRow]) -> tuple[int, int]:
    """Return the first changed row and the one after the last; at least one, because a frame needs a row."""
    found = [at for at, pair in enumerate(zip(before, rows, strict=True)) if pair[0] != pair[1]] or [0]
    return found[0], found[-1] + 1


def _encode_image(
    rows: Sequence[LookRow], theme: Theme, place: tuple[int, int, int, int], margin: int
) -> bytes:
    used = list_colours(rows, theme)
    near = {colour: colour if len(used) <= _MOST_COLOURS else _nearest_colour(colour) for colour in used}
    table = list(dict.fromkeys(near.values()))
    bits = max(2, (len(table) - 1).bit_length())
    numbers = {colour: table.index(shown) for colour, shown in near.items()}
    ground = bytes([numbers[theme.bg]])
    side, empty = ground * margin, ground * (place[2] * margin)
    lines = (side + line + side for line in draw_lines(rows, numbers.__getitem__, 8))
    data = _compress(b"".join((empty, *lines, empty)), bits)
    colours = b"".join(map(bytes, table)).ljust(3 << bits, b"\0")
    head = b"\x2c" + struct.pack("<HHHHB", *place, 0x80 | bits - 1) + colours + bytes([bits])
    blocks = (data[at : at + _BLOCK] for at in range(0, len(data), _BLOCK))
    return head + b"".join(bytes([len(block)]) + block for block in blocks) + b"\0"


def _nearest_colour(colour: Rgb) -> Rgb:
    """Return the nearest of 252 evenly spread colours: six steps of red and blue, seven of green."""
    red, green, blue = colour
    return round(red / 51) * 51, round(green / 42.5) * 85 // 2, round(blue / 51) * 51


def _compress(numbers: bytes, bits: int) -> bytes:
    """Pack LZW codes of growing width, the lowest bit first."""
    out = bytearray()
    held = count = 0
    for code, width in _lzw_codes(numbers, bits):
        held |= code << count
        count += width
        while count >= 8:
            out.append(held & 255)
            held >>= 8
            count -= 8
    return bytes((*out, held))


def _lzw_codes(numbers: bytes, bits: int) -> Iterator[tuple[int, int]]:
    """Yield LZW codes and their widths. When all 4096 codes are in use, the table is cleared."""
    clear, end = 1 << bits, (1 << bits) + 1
    known: dict[int, int] = {}
    width, new = bits + 1, end + 1
    yield clear, width
    met = numbers[0]
    for number in numbers[1:]:
        pair = met << 8 | number
        code = known.get(pair)
        if code is not None:
            met = code
            continue
        yield met, width
        met = number
        if new == _MOST_CODES:
            yield clear, width
            known, width, new = {}, bits + 1, end + 1
            continue
        known[pair] = new
        width += new == 1 << width
        new += 1
    yield met, width
    yield end, width + (new == 1 << width and new < _MOST_CODES)
