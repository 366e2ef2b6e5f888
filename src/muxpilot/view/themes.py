"""The colours of the page's terminals in xterm.js's names: the same as in pictures of screens."""

from __future__ import annotations

import json

from muxpilot.pictures.palette import THEMES, Theme, to_hex

_NAMES = "black red green yellow blue magenta cyan white".split()
_OWN = {
    "dark": {"cursor": "#9fb4d8", "selectionBackground": "#3a5686"},
    "light": {"cursor": "#52678d", "selectionBackground": "#b9d0f5"},
}


def themes_module() -> bytes:
    """Return the JavaScript module with the themes."""
    themes = {name: _to_xterm_theme(theme) | _OWN[name] for name, theme in THEMES.items()}
    return f"export const THEMES = {json.dumps(themes)};\n".encode()


def _to_xterm_theme(theme: Theme) -> dict[str, str]:
    names = [*_NAMES, *(f"bright{name.capitalize()}" for name in _NAMES)]
    colours = {name: to_hex(colour) for name, colour in zip(names, theme.ansi, strict=True)}
    return {"background": to_hex(theme.bg), "foreground": to_hex(theme.fg), **colours}
