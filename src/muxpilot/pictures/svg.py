"""A screen as an SVG that needs nothing else: text that can be selected, lines and blocks as drawn shapes."""

from __future__ import annotations

from html import escape

from muxpilot.pictures.glyphs import HEIGHT, WIDTH
from muxpilot.pictures.palette import Theme, hexed
from muxpilot.pictures.style_runs import Run, is_blank, is_shape, path, printable, runs, text_rules
from muxpilot.terminal.cells import Screen

_MARGIN = 8
_BASELINE = 12

# Letters stand where their cells are, also those that are read from right to left.
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}"'
    ' font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="13"'
    ' shape-rendering="crispEdges">'
    "<style>text{{unicode-bidi:bidi-override;direction:ltr;text-underline-offset:0}}</style>"
    '<rect width="100%" height="100%" fill="{bg}"/>'
)


def svg(screen: Screen, theme: Theme) -> str:
    wide, high = screen.columns * WIDTH + 2 * _MARGIN, len(screen.rows) * HEIGHT + 2 * _MARGIN
    parts = [_HEAD.format(w=wide, h=high, bg=hexed(theme.bg))]
    placed = [(run, row) for row in range(len(screen.rows)) for run in runs(screen, theme, row)]
    parts += (_ground(run, row) for run, row in placed if run.bg != theme.bg)
    parts += (_text(theme, run, row) for run, row in placed if not is_blank(run))
    return "\n".join((*parts, "</svg>")) + "\n"


def _place(run: Run, row: int) -> tuple[int, int]:
    return _MARGIN + run.column * WIDTH, _MARGIN + row * HEIGHT


def _ground(run: Run, row: int) -> str:
    x, y = _place(run, row)
    wide = run.width * WIDTH
    return f'<rect x="{x}" y="{y}" width="{wide}" height="{HEIGHT}" fill="{hexed(run.bg)}"/>'


def _text(theme: Theme, run: Run, row: int) -> str:
    x, y = _place(run, row)
    if is_shape(run):
        return f'<path fill="{hexed(run.fg)}" d="{path(run, x, y)}"/>'
    rules = ";".join(text_rules(theme, run))
    style = f' style="{rules}"' if rules else ""
    fixed = f' textLength="{run.width * WIDTH}" lengthAdjust="spacingAndGlyphs" xml:space="preserve"'
    words = escape(printable(run.text), quote=False)
    return f'<text x="{x}" y="{y + _BASELINE}" fill="{hexed(run.fg)}"{style}{fixed}>{words}</text>'
