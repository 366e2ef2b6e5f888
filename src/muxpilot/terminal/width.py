"""How many columns a character takes in tmux: the only module that asks for Unicode properties.

tmux asks the C library, and that follows Unicode's East Asian widths. From 3.4 on tmux has a table of its own
for emoji, and keeps an emoji of several characters in one cell. `./dev proof terminal` asks the tmux in use
for the width of every character and compares.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from unicodedata import category, east_asian_width

JOINER = "\u200d"
AS_EMOJI = "\ufe0f"  # asks for the emoji form of the character before it, which is two columns wide

# Format characters that take a cell in tmux: the soft hyphen, and signs before Arabic and Syriac numbers.
_SPACED_FORMATS = "\u00ad\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f"
# The C library counts vowels and finals of Hangul as parts of the syllable before them, and gives circled
# numbers and hexagrams two cells.
_PARTS_OF_SYLLABLES = (("\u1160", "\u11ff"), ("\ud7b0", "\ud7ff"))
_WIDE_SIGNS = (("\u3248", "\u324f"), ("\u4dc0", "\u4dff"))
# Narrow by Unicode, but wide in tmux 3.4 and newer, besides the letters of flags.
_WIDE_EMOJI = frozenset("\u261d\u26f9\u270c\u270d\U0001f3cb\U0001f3cc\U0001f574\U0001f575\U0001f590")


@lru_cache(4096)  # text has few different characters: a cache is faster than the lookups
def cell_width(char: str, *, is_joined: bool = True) -> int:
    """Return how many cells tmux gives a character: 0, 1 or 2.

    `is_joined`: this tmux (3.4 and newer) keeps an emoji of several characters in one cell.
    """
    if char.isascii():
        return 1 if char.isprintable() else 0
    if is_joined and (char in _WIDE_EMOJI or is_flag_letter(char)):
        return 2
    if is_nonspacing_mark(char) or category(char) in ("Cf", "Cc"):
        return int(char in _SPACED_FORMATS)
    if _is_in(char, _PARTS_OF_SYLLABLES):
        return 0
    return 2 if east_asian_width(char) in "WF" or _is_in(char, _WIDE_SIGNS) else 1


def _is_in(char: str, ranges: Iterable[tuple[str, str]]) -> bool:
    return any(first <= char <= last for first, last in ranges)


def is_nonspacing_mark(char: str) -> bool:
    return category(char) in ("Mn", "Me")


def is_flag_letter(char: str) -> bool:
    """Return True for a regional indicator: two of them are one flag."""
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def joins_wide_cell(char: str) -> bool:
    """Return True for a skin colour or the letter of a flag: tmux 3.4 and newer add it to the cell before."""
    return "\U0001f3fb" <= char <= "\U0001f3ff" or is_flag_letter(char)
