"""Draw a screen as lines of pixels, each the number of a colour. PNG and GIF are made of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from muxpilot.pictures.glyphs import WIDTH, Bitmap, draw_cell, draw_underline
from muxpilot.pictures.palette import Rgb, Theme, cell_colours, underline_colour
from muxpilot.terminal.cells import CellGrid, ScreenCell

MARGIN = 8

# Bitmaps of the character and of its underline, columns of pixels, colours of text, background and underline.
CellLook = tuple[Bitmap, Bitmap, int, Rgb, Rgb, Rgb]
LookRow = Sequence[CellLook]
ColourNumber = Callable[[Rgb], int]


def resolve_looks(screen: CellGrid, theme: Theme) -> list[LookRow]:
    return [list(_resolve_row(screen, theme, at)) for at in range(len(screen.rows))]


def _resolve_row(screen: CellGrid, theme: Theme, row: int) -> Iterator[CellLook]:
    column = 0
    for cell in screen.rows[row]:
        is_cursor = (
            screen.cursor is not None and screen.cursor[1] == row and _is_under_cursor(cell, column, screen)
        )
        text, ground = cell_colours(theme, cell.style, is_cursor=is_cursor)
        line = underline_colour(theme, cell.style, text)
        yield (*_draw_bitmaps(cell), cell.width * WIDTH, text, ground, line)
        column += cell.width


def _is_under_cursor(cell: ScreenCell, column: int, screen: CellGrid) -> bool:
    return screen.cursor is not None and column <= screen.cursor[0] < column + cell.width


@lru_cache(4096)
def _draw_bitmaps(cell: ScreenCell) -> tuple[Bitmap, Bitmap]:
    return draw_cell(cell), draw_underline(cell)


def list_colours(rows: Iterable[LookRow], theme: Theme) -> list[Rgb]:
    """Return each colour once, the background of the theme first."""
    return list(dict.fromkeys((theme.bg, *(colour for row in rows for look in row for colour in look[3:]))))


def draw_lines(rows: Iterable[LookRow], number: ColourNumber, depth: int, scale: int = 1) -> Iterator[bytes]:
    """Yield the lines from top to bottom, with `depth` bits for a pixel, enlarged `scale` times."""
    pieces: dict[CellLook, list[bytes]] = {}
    for row in rows:
        columns = [
            pieces.get(look) or pieces.setdefault(look, _draw_cell(look, number, depth, scale))
            for look in row
        ]
        for parts in zip(*columns, strict=True):
            yield from [b"".join(parts)] * scale


def _draw_cell(look: CellLook, number: ColourNumber, depth: int, scale: int) -> list[bytes]:
    """Draw the lines of one cell. 8 columns are whole bytes at every depth."""
    glyph, below, columns, *used = look
    text, ground, line = map(number, used)
    return [
        pack_numbers(
            (
                line if under >> at & 1 else text if row >> at & 1 else ground
                for at in reversed(range(columns))
                for _ in range(scale)
            ),
            depth,
        )
        for row, under in zip(glyph, below, strict=True)
    ]


def pack_numbers(numbers: Iterable[int], depth: int) -> bytes:
    """Pack numbers of `depth` bits each into bytes."""
    value, count = 0, 0
    for number in numbers:
        value = value << depth | number
        count += depth
    return value.to_bytes(count // 8)
