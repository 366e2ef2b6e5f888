"""Render a screen as one HTML page that loads nothing and runs no script."""

from __future__ import annotations

from html import escape

from muxpilot.pictures.glyphs import HEIGHT, WIDTH
from muxpilot.pictures.palette import Theme, to_hex
from muxpilot.pictures.style_runs import (
    StyleRun,
    css_rules,
    is_shape,
    replace_unprintable,
    shape_path,
    split_runs,
)
from muxpilot.terminal.cells import CellGrid

# A cell is 8 by 16 pixels with any font, so that backgrounds and shapes touch. Letters are placed by their
# cells, also those of scripts that are written from right to left.
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ margin: 0; background: {bg}; }}
pre {{ margin: 0; padding: 8px; color: {fg}; font: 13px/16px ui-monospace, Menlo, Consolas, monospace;
  letter-spacing: calc(8px - 1ch); text-underline-offset: 0; direction: ltr; unicode-bidi: bidi-override; }}
span, b, i {{ display: inline-block; height: 16px; vertical-align: top; font: inherit; }}
b {{ width: 16px; overflow: hidden; }}
i {{ position: relative; color: transparent; }}
svg {{ position: absolute; width: 100%; height: 100%; }}
</style>
</head>
<body><pre>{body}</pre></body>
</html>
"""


def render_html(screen: CellGrid, theme: Theme, title: str) -> str:
    """Return a screen as one HTML page that loads nothing and runs nothing."""
    rows = (_render_row(screen, theme, row) for row in range(len(screen.rows)))
    return _PAGE.format(
        title=escape(title), bg=to_hex(theme.bg), fg=to_hex(theme.fg), body="\n".join(rows).rstrip()
    )


def _render_row(screen: CellGrid, theme: Theme, row: int) -> str:
    return "".join(_render_run(run, theme) for run in split_runs(screen, theme, row)).rstrip()


def _render_run(run: StyleRun, theme: Theme) -> str:
    text = escape(replace_unprintable(run.text))
    is_wide = run.width == 2 and len(run.text) != 2
    words = _render_shape(run, text) if is_shape(run) else f"<b>{text}</b>" if is_wide else text
    style = ";".join(
        (
            *((f"color:{to_hex(run.fg)}",) if run.fg != theme.fg else ()),
            *((f"background:{to_hex(run.bg)}",) if run.bg != theme.bg else ()),
            *css_rules(theme, run),
        )
    )
    return f'<span style="{style}">{words}</span>' if style else words


def _render_shape(run: StyleRun, text: str) -> str:
    """Return an SVG path over the text, which is transparent but can be selected."""
    box = f'viewBox="0 0 {run.width * WIDTH} {HEIGHT}" preserveAspectRatio="none"'
    drawn = f'<path fill="{to_hex(run.fg)}" d="{shape_path(run)}"/>'
    return f'<i><svg {box} shape-rendering="crispEdges">{drawn}</svg>{text}</i>'
