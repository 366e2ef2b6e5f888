"""The size of a screen and the rules of its tmux."""

from __future__ import annotations

from muxpilot.records import record
from muxpilot.terminal.width import EmojiCells

# tmux has no wider window. On a screen like this a line is never continued in the next row.
WIDEST = 10_000


@record
class ScreenShape:
    """The size of a screen, and which rules for characters its tmux has (see `terminal/width.py`)."""

    columns: int
    rows: int
    emoji: EmojiCells = EmojiCells.PAIRED
    repeats_all: bool = True  # tmux 3.5 and newer: REP also repeats characters that are not ASCII


# For text whose screen is not known.
ANY_SHAPE = ScreenShape(WIDEST, 50)
