"""Render a screen as a self-contained SVG: text can be selected, lines and blocks are shapes."""

from __future__ import annotations

from html import escape

from muxpilot.pictures.glyphs import HEIGHT, WIDTH
from muxpilot.pictures.palette import Theme, to_hex
from muxpilot.pictures.style_runs import (
    StyleRun,
    css_rules,
    is_blank,
    is_shape,
    replace_unprintable,
    shape_path,
    split_runs,
)
from muxpilot.terminal.cells import CellGrid

_MARGIN = 8
_BASELINE = 12

# Letters are placed by their cells, also those of scripts that are written from right to left.
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}"'
    ' font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="13"'
    ' shape-rendering="crispEdges">'
    "<style>text{{unicode-bidi:bidi-override;direction:ltr;text-underline-offset:0}}</style>"
    '<rect width="100%" height="100%" fill="{bg}"/>'
)


def render_svg(screen: CellGrid, theme: Theme) -> str:
    """Return the SVG file of a screen."""
    wide, high = screen.columns * WIDTH + 2 * _MARGIN, len(screen.rows) * HEIGHT + 2 * _MARGIN
    parts = [_HEAD.format(w=wide, h=high, bg=to_hex(theme.bg))]
    placed = [(run, row) for row in range(len(screen.rows)) for run in split_runs(screen, theme, row)]
    parts += (_render_background(run, row) for run, row in placed if run.bg != theme.bg)
    parts += (_render_run(theme, run, row) for run, row in placed if not is_blank(run))
    return "\n".join((*parts, "</svg>")) + "\n"


def _position(run: StyleRun, row: int) -> tuple[int, int]:
    return _MARGIN + run.column * WIDTH, _MARGIN + row * HEIGHT


def _render_background(run: StyleRun, row: int) -> str:
    x, y = _position(run, row)
    wide = run.width * WIDTH
    return f'<rect x="{x}" y="{y}" width="{wide}" height="{HEIGHT}" fill="{to_hex(run.bg)}"/>'


def _render_run(theme: Theme, run: StyleRun, row: int) -> str:
    x, y = _position(run, row)
    if is_shape(run):
        return f'<path fill="{to_hex(run.fg)}" d="{shape_path(run, x, y)}"/>'
    rules = ";".join(css_rules(theme, run))
    style = f' style="{rules}"' if rules else ""
    fixed = f' textLength="{run.width * WIDTH}" lengthAdjust="spacingAndGlyphs" xml:space="preserve"'
    words = escape(replace_unprintable(run.text), quote=False)
    return f'<text x="{x}" y="{y + _BASELINE}" fill="{to_hex(run.fg)}"{style}{fixed}>{words}</text>'
