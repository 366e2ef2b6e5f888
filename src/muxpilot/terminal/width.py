"""How many columns a character takes: the only module that asks for Unicode properties.

There are still two rules: a soft hyphen and the Arabic signs before numbers have a cell in `cell_width`, as
in tmux, but join the character before them in `is_combining`, which `terminal/text.py` uses.
"""

from __future__ import annotations

from functools import lru_cache
from unicodedata import category, east_asian_width

# Text has few different characters: a cache is faster than the lookup and a call.
_cached = lru_cache(4096)

# Format characters that take a cell in tmux: the soft hyphen, and signs before Arabic and Syriac numbers.
_SPACED_FORMATS = "\u00ad\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f"


def cell_width(char: str) -> int:
    """Return how many cells tmux gives a character: 0, 1 or 2."""
    if char.isascii():
        return 1 if char.isprintable() else 0
    if category(char) in ("Mn", "Me", "Cf", "Cc"):
        return int(char in _SPACED_FORMATS)
    return 2 if is_wide(char) else 1


@_cached
def is_wide(char: str) -> bool:
    return east_asian_width(char) in "WF"


@_cached
def is_combining(char: str) -> bool:
    """Return True for a character that is drawn on the one before it, or that only formats text."""
    return not char.isascii() and category(char) in ("Mn", "Me", "Cf")


def is_nonspacing_mark(char: str) -> bool:
    return category(char) in ("Mn", "Me")


def is_flag_letter(char: str) -> bool:
    """Return True for a regional indicator: two of them are one flag."""
    return "\U0001f1e6" <= char <= "\U0001f1ff"
