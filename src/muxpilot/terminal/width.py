"""How many columns a character takes in tmux: the only module that asks for Unicode properties.

tmux asks the C library, and that follows Unicode's East Asian widths. From 3.4 on tmux has a table of its own
for emoji, and keeps an emoji of several characters in one cell; 3.6 changed the rules for flags and skin
colours. `./dev proof terminal` asks the tmux in use for the width of every character and compares.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
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


# Hands, people and their activities: in tmux 3.6 and newer a skin colour joins these only.
_COLOURED = (
    *(("\U0001f44b", "\U0001f450"), ("\U0001f466", "\U0001f469"), ("\U0001f46e", "\U0001f46e")),
    *(("\U0001f470", "\U0001f478"), ("\U0001f47c", "\U0001f47c"), ("\U0001f481", "\U0001f483")),
    *(("\U0001f485", "\U0001f487"), ("\U0001f4aa", "\U0001f4aa"), ("\U0001f575", "\U0001f575")),
    *(("\U0001f57a", "\U0001f57a"), ("\U0001f590", "\U0001f590"), ("\U0001f595", "\U0001f596")),
    *(("\U0001f645", "\U0001f647"), ("\U0001f64b", "\U0001f64f"), ("\U0001f6b4", "\U0001f6b6")),
    *(("\U0001f926", "\U0001f926"), ("\U0001f937", "\U0001f939"), ("\U0001f93d", "\U0001f93e")),
    *(("\U0001f9b5", "\U0001f9b6"), ("\U0001f9b8", "\U0001f9b9"), ("\U0001f9cd", "\U0001f9cf")),
    *(("\U0001f9d1", "\U0001f9df"),),
)


class EmojiCells(IntEnum):
    """How a version of tmux puts an emoji of several characters into cells."""

    SEPARATE = 0  # before 3.4: a cell for each
    JOINED = 1  # one cell; a skin colour or the letter of a flag joins any character but ASCII
    MATCHED = 2  # since 3.6: a letter joins a letter only, and a skin colour what can have one
    PAIRED = 3  # since 3.7: two letters are a flag, and the cursor stays behind one in the last column


@lru_cache(4096)  # text has few different characters: a cache is faster than the lookups
def cell_width(char: str, *, emoji: EmojiCells = EmojiCells.PAIRED) -> int:
    """Return how many cells tmux gives a character: 0, 1 or 2."""
    if char.isascii():
        return 1 if char.isprintable() else 0
    if emoji and char in _WIDE_EMOJI:
        return 2
    if is_flag_letter(char):
        return 2 if emoji is EmojiCells.JOINED else 1
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


def is_skin_colour(char: str) -> bool:
    return "\U0001f3fb" <= char <= "\U0001f3ff"


def joins_wide_cell(char: str, cell: str, emoji: EmojiCells) -> bool:
    """Return True if a skin colour or the letter of a flag is added to the cell before it, and makes it wide.

    tmux 3.6 and newer also add a hand or a person to a skin colour that stands alone.
    """
    if emoji < EmojiCells.MATCHED:
        return not cell.isascii() and (is_skin_colour(char) or is_flag_letter(char))
    if is_flag_letter(char):
        is_open = emoji is EmojiCells.MATCHED or sum(map(is_flag_letter, cell)) == 1
        return is_flag_letter(cell[0]) and is_open
    pair = (cell[0], char) if is_skin_colour(char) else (char, cell[0])
    return is_skin_colour(pair[1]) and _is_in(pair[0], _COLOURED)


def width_of_cell(cell: str, emoji: EmojiCells) -> int:
    """Return how many columns a cell takes in tmux 3.4 and newer; 0 for the second half of a character."""
    if not cell:
        return 0
    is_wide = AS_EMOJI in cell or any(is_skin_colour(char) or is_flag_letter(char) for char in cell[1:])
    return 2 if is_wide else cell_width(cell[0], emoji=emoji)
