"""A screen as one HTML page that loads nothing and runs nothing."""

from __future__ import annotations

from html import escape

from muxpilot.pictures.glyphs import HEIGHT, WIDTH
from muxpilot.pictures.palette import Theme, hexed
from muxpilot.pictures.style_runs import Run, is_shape, path, printable, runs, text_rules
from muxpilot.terminal.cells import Screen

# A cell is 8 by 16 pixels whatever the font, so that grounds and shapes meet; letters stand where their
# cells are, also those that are read from right to left.
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


def html(screen: Screen, theme: Theme, title: str) -> str:
    rows = (_row(screen, theme, row) for row in range(len(screen.rows)))
    return _PAGE.format(
        title=escape(title), bg=hexed(theme.bg), fg=hexed(theme.fg), body="\n".join(rows).rstrip()
    )


def _row(screen: Screen, theme: Theme, row: int) -> str:
    return "".join(_span(run, theme) for run in runs(screen, theme, row)).rstrip()


def _span(run: Run, theme: Theme) -> str:
    text = escape(printable(run.text))
    is_wide = run.width == 2 and len(run.text) != 2
    words = _shape(run, text) if is_shape(run) else f"<b>{text}</b>" if is_wide else text
    style = ";".join(
        (
            *((f"color:{hexed(run.fg)}",) if run.fg != theme.fg else ()),
            *((f"background:{hexed(run.bg)}",) if run.bg != theme.bg else ()),
            *text_rules(theme, run),
        )
    )
    return f'<span style="{style}">{words}</span>' if style else words


def _shape(run: Run, text: str) -> str:
    """The characters can be selected; what is seen is drawn."""
    box = f'viewBox="0 0 {run.width * WIDTH} {HEIGHT}" preserveAspectRatio="none"'
    drawn = f'<path fill="{hexed(run.fg)}" d="{path(run)}"/>'
    return f'<i><svg {box} shape-rendering="crispEdges">{drawn}</svg>{text}</i>'
