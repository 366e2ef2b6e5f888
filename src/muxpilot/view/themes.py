"""The colours of the page's terminals, as xterm.js names them: those that pictures of screens have."""

from __future__ import annotations

import json

from muxpilot.pictures.palette import THEMES, Theme, hexed

_NAMES = "black red green yellow blue magenta cyan white".split()
_OWN = {
    "dark": {"cursor": "#9fb4d8", "selectionBackground": "#3a5686"},
    "light": {"cursor": "#52678d", "selectionBackground": "#b9d0f5"},
}


def script() -> bytes:
    """A module of the page."""
    themes = {name: _named(theme) | _OWN[name] for name, theme in THEMES.items()}
    return f"export const THEMES = {json.dumps(themes)};\n".encode()


def _named(theme: Theme) -> dict[str, str]:
    names = [*_NAMES, *(f"bright{name.capitalize()}" for name in _NAMES)]
    colours = {name: hexed(colour) for name, colour in zip(names, theme.ansi, strict=True)}
    return {"background": hexed(theme.bg), "foreground": hexed(theme.fg), **colours}
