"""The characters of DEC's line drawing set, as tmux shows them."""

from __future__ import annotations

_LETTERS = "".join(map(chr, range(0x60, 0x7F)))
_DRAWN = dict(zip("+,-.0" + _LETTERS, "→←↑↓▮◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·", strict=True))
LINE_DRAWING = str.maketrans(_DRAWN)
DRAWN_CHARS = frozenset(_DRAWN.values())
