"""Text of an agent as a person gets to see it: every character that is not plain text is spelled out.

An agent must not be able to draw on a person's screen, or to hide a part of its question. So control
characters, escape sequences and characters without a width are shown as `\\x1b` or `\\u202e`.
"""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def show_line(text: str, longest: int = 200) -> str:
    """Return a text as one line of at most so many characters."""
    line = _UNSAFE.sub(_spell, text)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def show_lines(text: str) -> list[str]:
    """Return a text as lines. Only a line feed ends a line."""
    return [_UNSAFE.sub(_spell, line.replace("\t", "    ")) for line in text.split("\n")]


def _spell(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
