"""Neighbours that look alike, together: what SVG and HTML are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from muxpilot.render.cells import Screen, Style
from muxpilot.render.palette import Rgb, Theme, colours


@dataclass(frozen=True, slots=True)
class Run:
    column: int
    width: int
    text: str
    style: Style
    fg: Rgb
    bg: Rgb


def runs(screen: Screen, theme: Theme, row: int, *, alone: str = "") -> Iterator[Run]:
    """The runs of a row; each wide character, and each of those `alone`, has one of its own."""
    run: Run | None = None
    column = 0
    for cell in screen.rows[row]:
        is_cursor = screen.cursor in ((column, row), (column + cell.width - 1, row))
        fg, bg = colours(theme, cell.style, is_cursor=is_cursor)
        new = Run(column, cell.width, cell.text, cell.style, fg, bg)
        if run is not None and _goes_on(run, new, alone):
            run = Run(run.column, run.width + 1, run.text + new.text, run.style, fg, bg)
        else:
            if run is not None:
                yield run
            run = new
        column += cell.width
    if run is not None:
        yield run


def _goes_on(run: Run, new: Run, alone: str) -> bool:
    looks_alike = (run.style, run.fg, run.bg) == (new.style, new.fg, new.bg)
    is_plain = run.width == len(run.text) and new.width == len(new.text) == 1
    return looks_alike and is_plain and not {run.text[-1], new.text} & set(alone)


def is_blank(run: Run) -> bool:
    style = run.style
    return not run.text.strip() and not (style.underline or style.strike or style.overline)
