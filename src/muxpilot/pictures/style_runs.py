"""Neighbours that look alike, together: what SVG and HTML are made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from muxpilot.pictures.box_glyphs import is_drawn
from muxpilot.pictures.glyphs import WIDTH, bitmap
from muxpilot.pictures.palette import Rgb, Theme, colours, hexed, line_colour
from muxpilot.terminal.cells import Cell, Screen, Style

_SHOWN = re.compile("[\u200d\ufe0f\ue000-\uf8ff]")


@dataclass(frozen=True, slots=True)
class Run:
    column: int
    width: int
    text: str
    style: Style
    fg: Rgb
    bg: Rgb


def runs(screen: Screen, theme: Theme, row: int) -> Iterator[Run]:
    """The runs of a row; each wide character has one of its own, and shapes are not among letters."""
    run: Run | None = None
    column = 0
    for cell in screen.rows[row]:
        is_cursor = screen.cursor in ((column, row), (column + cell.width - 1, row))
        fg, bg = colours(theme, cell.style, is_cursor=is_cursor)
        new = Run(column, cell.width, cell.text, cell.style, fg, bg)
        if run is not None and _goes_on(run, new):
            run = Run(run.column, run.width + 1, run.text + new.text, run.style, fg, bg)
        else:
            if run is not None:
                yield run
            run = new
        column += cell.width
    if run is not None:
        yield run


def _goes_on(run: Run, new: Run) -> bool:
    looks_alike = (run.style, run.fg, run.bg) == (new.style, new.fg, new.bg)
    is_plain = run.width == len(run.text) and new.width == len(new.text) == 1
    return looks_alike and is_plain and is_drawn(run.text[-1]) == is_drawn(new.text)


def is_shape(run: Run) -> bool:
    return is_drawn(run.text[0])


def is_blank(run: Run) -> bool:
    style = run.style
    return not run.text.strip() and not (style.underline or style.strike or style.overline)


def printable(text: str) -> str:
    """Neither XML nor HTML has room for control characters; a reader's font may know private ones."""
    return "".join(char if char.isprintable() or _SHOWN.match(char) else "\ufffd" for char in text)


def path(run: Run, x: int = 0, y: int = 0) -> str:
    """The shapes of a run as an SVG path: the same pixels as in the picture."""
    parts = []
    for at, rows in enumerate(bitmap(Cell(char, style=run.style)) for char in run.text):
        parts += [
            f"M{x + at * WIDTH + first} {y + row}h{last - first}v1h-{last - first}z"
            for row, bits in enumerate(rows)
            for first, last in _stretches(bits)
        ]
    return "".join(parts)


def _stretches(bits: int) -> Iterator[tuple[int, int]]:
    first: int | None = None
    for at in range(WIDTH + 1):
        is_on = at < WIDTH and bits >> (WIDTH - 1 - at) & 1
        if is_on and first is None:
            first = at
        elif not is_on and first is not None:
            yield first, at
            first = None


_KINDS = {2: "double", 3: "wavy", 4: "dotted", 5: "dashed"}


def text_rules(theme: Theme, run: Run) -> Iterator[str]:
    """What CSS says of how a run's letters are drawn; their colour aside."""
    style = run.style
    if style.bold:
        yield "font-weight:bold"
    if style.italic:
        yield "font-style:italic"
    lines = (("underline", style.underline), ("line-through", style.strike), ("overline", style.overline))
    words = [word for word, is_on in lines if is_on]
    if style.underline:
        words += [_KINDS.get(style.underline, "solid")]
        words += [hexed(line_colour(theme, style, run.fg))] if style.line is not None else []
    if words:
        yield f"text-decoration:{' '.join(words)}"
