"""The rows that `capture-pane` prints as text, with line drawing as the characters that a person sees.

Without `-e` tmux prints the letters that stand for lines; with it they are between SO and SI, but tmux then
takes five times as long. So a capture that seems to have lines is made once more with `-e`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from muxpilot.terminal.escapes import CODE_OR_TEXT, ESC, LINK, SGR
from muxpilot.terminal.line_drawing import LINE_DRAWING

_SHIFT_OUT = "\x0e"
_SHIFTS = re.compile("[\x0e\x0f]")
_DRAWN = re.compile("\x0e([^\x0f]*)\x0f?")
_PIECE = re.compile(CODE_OR_TEXT)
_LINK = re.compile(LINK)
# Letters of lines, corners, bars and shades in places where words do not have them. Each pattern begins with
# one letter: `re` then skips what is between two of them.
_LOOKS_DRAWN = (
    re.compile(rb"q(?:[qkjwvn]|(?<=[lmtwv]q))"),
    re.compile(rb"x(?<=[ \n]x)(?=[ \n])"),
    re.compile(rb"aaa"),
)


def looks_drawn(rows: Sequence[bytes]) -> bool:
    """Return True if rows that were captured without `-e` may have letters that stand for lines."""
    text = b"\n".join((b"", *rows, b""))
    return any(letters.search(text) for letters in _LOOKS_DRAWN)


def decode_rows(rows: Sequence[bytes]) -> list[str]:
    """Return the text of rows that were captured without `-e`."""
    return b"\n".join(rows).decode("utf-8", "replace").split("\n") if rows else []


def decode_styled_rows(rows: Sequence[bytes], *, colors: bool, keeps_blanks: bool) -> list[str]:
    """Return the text of rows that were captured with `-e`; colour codes stay with `colors`.

    `keeps_blanks`: the blanks at the ends of rows were asked for. Otherwise those in a colour go, too.
    """
    text = "\n".join(decode_rows(rows))
    if ESC in text:
        text = _LINK.sub("", text)
    has_codes = ESC in text
    if has_codes and not colors:
        text = SGR.sub("", text)
    lines = _draw_shifted(text).split("\n") if rows else []
    return [line.rstrip(" ") for line in lines] if has_codes and not (colors or keeps_blanks) else lines


def decode_screen_rows(rows: Sequence[bytes]) -> list[str]:
    """Return rows that were captured with `-e` as they are, but with line drawing as characters.

    A terminal that gets SO and SI draws letters unless a program has chosen the set.
    """
    return _draw_shifted("\n".join(decode_rows(rows))).split("\n") if rows else []


def _draw_shifted(text: str) -> str:
    """Return text with characters in place of what is between SO and SI."""
    # Next to a link, tmux 3.5 repeats some of them.
    return _SHIFTS.sub("", _DRAWN.sub(_draw, text)) if _SHIFT_OUT in text else text


def _draw(found: re.Match[str]) -> str:
    """Return the characters for letters between SO and SI."""
    return _PIECE.sub(lambda piece: piece[0] if piece[1] else piece[0].translate(LINE_DRAWING), found[1])
