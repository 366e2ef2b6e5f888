"""DEC's line drawing set: the characters that its letters stand for, and when a terminal draws them.

A program chooses a set for G0 or G1 and shifts between the two. `terminal/screen.py` draws by these
tables, and `DrawnLetters` is for bytes that no screen draws.
"""

from __future__ import annotations

import re

from muxpilot.terminal.escapes import ANY_SEQUENCE, CHARACTER_SET_CHANGE, ESC, ESC_BYTES
from muxpilot.terminal.pen import Pen

_LETTERS = "".join(map(chr, range(0x60, 0x7F)))
_DRAWN = dict(zip("+,-.0" + _LETTERS, "→←↑↓▮◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·", strict=True))
LINE_DRAWING = str.maketrans(_DRAWN)
DRAWN_CHARS = frozenset(_DRAWN.values())

# By the name of an escape sequence: which set it chooses, and whether that draws lines.
SET_CHOICES = {"(0": (0, True), "(B": (0, False), ")0": (1, True), ")B": (1, False)}
# By a control character: which set it puts into use.
SHIFTS = {"\x0e": 1, "\x0f": 0}

_SHIFT_BYTES = tuple(shift.encode() for shift in SHIFTS)
_CHANGE = re.compile(CHARACTER_SET_CHANGE.encode())
_PART = re.compile(rf"{ANY_SEQUENCE}|[\x0e\x0f]|[+-.0`-~]+".encode())


class DrawnLetters:
    """Writes the letters of line drawing in the bytes of a pane as the characters that a person sees."""

    def __init__(self) -> None:
        self._pen = Pen()
        self._saved = Pen()

    def feed(self, data: bytes) -> bytes:
        """Return the next bytes with characters in place of letters. They end with no torn sequence."""
        if not self._is_drawing:
            if ESC_BYTES not in data and not any(shift in data for shift in _SHIFT_BYTES):
                return data
            if _CHANGE.search(data) is None:
                return data
        return _PART.sub(self._replace, data)

    @property
    def _is_drawing(self) -> bool:
        return self._pen.draws[self._pen.shift]

    def _replace(self, found: re.Match[bytes]) -> bytes:
        """Return a piece of text as it is drawn, or a sequence as it is."""
        part = found[0]
        text = part.decode("ascii")
        if text in SHIFTS:
            self._pen.shift = SHIFTS[text]
        elif text.startswith(ESC):
            self._apply(text.removeprefix(ESC))
        elif self._is_drawing:
            return text.translate(LINE_DRAWING).encode()
        return part

    def _apply(self, name: str) -> None:
        """Take note of a sequence that chooses a set, or saves, restores or resets the choice."""
        if name in SET_CHOICES:
            which, draws = SET_CHOICES[name]
            self._pen.draws[which] = draws
        elif name in ("7", "[s"):
            self._saved = self._pen.copy()
        elif name in ("8", "[u"):
            self._pen = self._saved.copy()
        elif name == "c":
            self._pen, self._saved = Pen(), Pen()
