"""The names of keys that tmux knows. Any other word is never sent as a key."""

from __future__ import annotations

import re

from muxpilot.errors import BadInput

_NAMED = (
    *("Enter Escape Tab BTab Space BSpace Up Down Left Right Home End".split()),
    *("PPage PageUp PgUp NPage PageDown PgDn IC Insert DC Delete".split()),
    *("KPEnter KP/ KP* KP- KP+ KP. KP0 KP1 KP2 KP3 KP4 KP5 KP6 KP7 KP8 KP9".split()),
    *(f"F{number}" for number in range(1, 13)),
)
_BY_LOWER = {name.lower(): name for name in _NAMED}
# tmux 3.3a does not know these with C- and would type the characters of the name, such as `C`, `-`, `%`.
_NEVER_WITH_CONTROL = frozenset('"$%&*{|}~')
_MODIFIED = re.compile(r"((?:[CMS]-)*)(.+)", re.ASCII | re.DOTALL)


def parse_keys(keys: str) -> tuple[str, ...]:
    """Parse keys separated by blanks: `Escape : w q Enter`, `C-c`, `M-Left`, `^D`."""
    words = tuple(require_key(word) for word in keys.split())
    if not words:
        raise BadInput("No keys were given.", "Give key names such as Enter, C-c or Up.")
    return words


def require_key(word: str) -> str:
    """Return a key as tmux spells it. Raise BadInput if it is not a key."""
    found = find_key(word)
    if found is None:
        raise BadInput(
            f"{word!r} is not a key.",
            "Use names such as Enter, C-c, M-x, Up or F5, or send it as literal text.",
        )
    return found


def find_key(word: str) -> str | None:
    """Return a key as tmux spells it, or None if the word is not a key."""
    if len(word) == 1:
        return word if word.isprintable() else None
    if len(word) == 2 and word[0] == "^" and word[1].isprintable():
        return find_key(f"C-{word[1].lower()}")
    match = _MODIFIED.fullmatch(word)
    if match is None:
        return None
    modifiers, base = match[1], match[2]
    if len(base) == 1 and modifiers:
        unknown = "C-" in modifiers and base in _NEVER_WITH_CONTROL
        return modifiers + base if base.isprintable() and not unknown else None
    named = _BY_LOWER.get(base.lower())
    return modifiers + named if named is not None else None
