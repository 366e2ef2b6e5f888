"""Join neighbouring cells of the same style into runs. SVG and HTML are made of these."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from muxpilot.pictures.box_glyphs import is_shape_character
from muxpilot.pictures.glyphs import WIDTH, draw_cell
from muxpilot.pictures.palette import Rgb, Theme, cell_colours, to_hex, underline_colour
from muxpilot.terminal.cells import CellGrid, CellStyle, ScreenCell

_KEPT = re.compile("[\u200d\ufe0f\ue000-\uf8ff]")


@dataclass(frozen=True, slots=True)
class StyleRun:
    """Neighbouring cells of one row with the same style."""

    column: int
    width: int
    text: str
    style: CellStyle
    fg: Rgb
    bg: Rgb


def split_runs(screen: CellGrid, theme: Theme, row: int) -> Iterator[StyleRun]:
    """Yield the runs of a row. A wide character is a run of its own; shapes and letters are not mixed."""
    run: StyleRun | None = None
    column = 0
    for cell in screen.rows[row]:
        is_cursor = screen.cursor in ((column, row), (column + cell.width - 1, row))
        fg, bg = cell_colours(theme, cell.style, is_cursor=is_cursor)
        new = StyleRun(column, cell.width, cell.text, cell.style, fg, bg)
        if run is not None and _can_join(run, new):
            run = StyleRun(run.column, run.width + 1, run.text + new.text, run.style, fg, bg)
        else:
            if run is not None:
                yield run
            run = new
        column += cell.width
    if run is not None:
        yield run


def _can_join(run: StyleRun, new: StyleRun) -> bool:
    looks_alike = (run.style, run.fg, run.bg) == (new.style, new.fg, new.bg)
    is_plain = run.width == len(run.text) and new.width == len(new.text) == 1
    return looks_alike and is_plain and is_shape_character(run.text[-1]) == is_shape_character(new.text)


def is_shape(run: StyleRun) -> bool:
    return is_shape_character(run.text[0])


def is_blank(run: StyleRun) -> bool:
    style = run.style
    return not run.text.strip() and not (style.underline or style.strike or style.overline)


def replace_unprintable(text: str) -> str:
    """Replace control characters, which XML forbids. Private ones stay: the reader's font may have them."""
    return "".join(char if char.isprintable() or _KEPT.match(char) else "\ufffd" for char in text)


def shape_path(run: StyleRun, x: int = 0, y: int = 0) -> str:
    """Return the shapes of a run as an SVG path with the same pixels as in the PNG."""
    parts = []
    for at, rows in enumerate(draw_cell(ScreenCell(char, style=run.style)) for char in run.text):
        parts += [
            f"M{x + at * WIDTH + first} {y + row}h{last - first}v1h-{last - first}z"
            for row, bits in enumerate(rows)
            for first, last in _find_stretches(bits)
        ]
    return "".join(parts)


def _find_stretches(bits: int) -> Iterator[tuple[int, int]]:
    first: int | None = None
    for at in range(WIDTH + 1):
        is_on = at < WIDTH and bits >> (WIDTH - 1 - at) & 1
        if is_on and first is None:
            first = at
        elif not is_on and first is not None:
            yield first, at
            first = None


_UNDERLINE_STYLES = {2: "double", 3: "wavy", 4: "dotted", 5: "dashed"}


def css_rules(theme: Theme, run: StyleRun) -> Iterator[str]:
    """Yield the CSS rules for the letters of a run, except for their colour."""
    style = run.style
    if style.bold:
        yield "font-weight:bold"
    if style.italic:
        yield "font-style:italic"
    lines = (("underline", style.underline), ("line-through", style.strike), ("overline", style.overline))
    words = [word for word, is_on in lines if is_on]
    if style.underline:
        words += [_UNDERLINE_STYLES.get(style.underline, "solid")]
        words += [to_hex(underline_colour(theme, style, run.fg))] if style.line is not None else []
    if words:
        yield f"text-decoration:{' '.join(words)}"
