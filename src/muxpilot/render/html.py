"""A screen as one HTML page that loads nothing and runs nothing."""

from __future__ import annotations

from html import escape

from muxpilot.render.cells import Screen, Style
from muxpilot.render.palette import Theme, hexed
from muxpilot.render.runs import Run, runs

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ margin: 0; background: {bg}; }}
pre {{ margin: 0; padding: 8px; color: {fg}; font: 14px/1.2 ui-monospace, Menlo, monospace; }}
b {{ display: inline-block; width: 2ch; font-weight: inherit; overflow: hidden; vertical-align: top; }}
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
    text = escape("".join(char if char.isprintable() or char == "\u200d" else "\ufffd" for char in run.text))
    words = f"<b>{text}</b>" if run.width == 2 and not run.text.isascii() else text
    style = ";".join(
        (
            *((f"color:{hexed(run.fg)}",) if run.fg != theme.fg else ()),
            *((f"background:{hexed(run.bg)}",) if run.bg != theme.bg else ()),
            *_rules(run.style),
        )
    )
    return f'<span style="{style}">{words}</span>' if style else words


def _rules(style: Style) -> tuple[str, ...]:
    lines = " ".join(
        word
        for word, is_on in (
            ("underline", style.underline),
            ("line-through", style.strike),
            ("overline", style.overline),
        )
        if is_on
    )
    return (
        *(("font-weight:bold",) if style.bold else ()),
        *(("font-style:italic",) if style.italic else ()),
        *((f"text-decoration:{lines}",) if lines else ()),
    )
