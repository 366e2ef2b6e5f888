"""A screen as an SVG that needs nothing else: text that can be selected, lines and blocks as drawn shapes."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from muxpilot.render.cells import Cell, Screen, Style
from muxpilot.render.glyphs import HEIGHT, WIDTH, bitmap
from muxpilot.render.palette import Theme, hexed
from muxpilot.render.runs import Run, is_blank, runs

_MARGIN = 8
_BASELINE = 12
# A font's own would not meet from cell to cell.
_DRAWN = "".join(map(chr, range(0x2500, 0x25A0)))

_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}"'
    ' font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="13"'
    ' shape-rendering="crispEdges"><rect width="100%" height="100%" fill="{bg}"/>'
)


def svg(screen: Screen, theme: Theme) -> str:
    wide, high = screen.columns * WIDTH + 2 * _MARGIN, len(screen.rows) * HEIGHT + 2 * _MARGIN
    parts = [_HEAD.format(w=wide, h=high, bg=hexed(theme.bg))]
    for row in range(len(screen.rows)):
        found = list(runs(screen, theme, row, alone=_DRAWN))
        parts += (_ground(run, row) for run in found if run.bg != theme.bg)
        parts += (piece for run in found if not is_blank(run) for piece in _text(run, row))
    return "\n".join((*parts, "</svg>")) + "\n"


def _place(run: Run, row: int) -> tuple[int, int]:
    return _MARGIN + run.column * WIDTH, _MARGIN + row * HEIGHT


def _ground(run: Run, row: int) -> str:
    x, y = _place(run, row)
    wide = run.width * WIDTH
    return f'<rect x="{x}" y="{y}" width="{wide}" height="{HEIGHT}" fill="{hexed(run.bg)}"/>'


def _text(run: Run, row: int) -> Iterator[str]:
    x, y = _place(run, row)
    if run.text in _DRAWN:
        yield f'<path fill="{hexed(run.fg)}" d="{_shape(Cell(run.text), x, y)}"/>'
        return
    fixed = f' textLength="{run.width * WIDTH}" lengthAdjust="spacingAndGlyphs"'
    words = escape(_printable(run.text), quote=False)
    look = f'fill="{hexed(run.fg)}"{_attributes(run.style)}{fixed}'
    yield f'<text x="{x}" y="{y + _BASELINE}" {look} xml:space="preserve">{words}</text>'


def _shape(cell: Cell, x: int, y: int) -> str:
    """The same pixels as in the picture, a rectangle for each row that is alike to the end."""
    parts = []
    for at, row in enumerate(bitmap(cell)):
        column = 0
        for bit in range(WIDTH + 1):
            if bit < WIDTH and row >> (WIDTH - 1 - bit) & 1:
                continue
            if bit > column:
                parts.append(f"M{x + column} {y + at}h{bit - column}v1h-{bit - column}z")
            column = bit + 1
    return "".join(parts)


def _attributes(style: Style) -> str:
    lines = [
        word
        for word, is_on in (
            ("underline", style.underline),
            ("line-through", style.strike),
            ("overline", style.overline),
        )
        if is_on
    ]
    return "".join(
        (
            ' font-weight="bold"' if style.bold else "",
            ' font-style="italic"' if style.italic else "",
            f' text-decoration="{" ".join(lines)}"' if lines else "",
        )
    )


def _printable(text: str) -> str:
    """XML has no room for control characters."""
    return "".join(char if char.isprintable() or char in "\u200d\ufe0f" else "\ufffd" for char in text)
