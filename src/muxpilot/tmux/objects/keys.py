"""The names of keys that tmux knows. Any other word is never sent as a key."""

from __future__ import annotations

import re
import string

from muxpilot.errors import BadInput

_NAMED = (
    *("Enter Escape Tab BTab Space BSpace Up Down Left Right Home End".split()),
    *("PPage PageUp PgUp NPage PageDown PgDn IC Insert DC Delete".split()),
    *("KPEnter KP/ KP* KP- KP+ KP. KP0 KP1 KP2 KP3 KP4 KP5 KP6 KP7 KP8 KP9".split()),
    *(f"F{number}" for number in range(1, 13)),
)
_BY_LOWER = {name.lower(): name for name in _NAMED}
# tmux 3.3a (`#`: 3.5a) does not know these with C- and would type the characters of the name: `C`, `-`, `%`.
_NEVER_WITH_CONTROL = frozenset('"#$%&*{|}~')
# tmux knows the following with more modifiers, but has no bytes for them, and would type the name, too.
_NOT_MODIFIED = frozenset({"Escape", "BSpace", *(name for name in _NAMED if name.startswith("KP"))})
_NOT_SHIFTED = _NOT_MODIFIED | {"Enter", "Tab", "BTab", "Space"}
_CONTROL_AND_META = frozenset("@[\\]^_?" + string.ascii_letters) | {"Space"}
_MODIFIED = re.compile(r"((?:[CMS]-)*)(.+)", re.ASCII | re.DOTALL)


def parse_keys(keys: str) -> tuple[str, ...]:
    """Parse keys separated by blanks: `Escape : w q Enter`, `C-c`, `M-Left`, `^D`."""
    words = tuple(require_key(word) for word in keys.split())
    if not words:
        raise BadInput("No keys were given.", "Give key names such as Enter, C-c or Up.")
    return words


def require_key(word: str) -> str:
    """Return a key as tmux spells it. Raise BadInput if it is not a key that a program can get."""
    modifiers, base = _split_key(word)
    if not base:
        raise BadInput(
            f"{word!r} is not a key.",
            "Use names such as Enter, C-c, M-x, Up or F5, or send it as literal text.",
        )
    if not _has_bytes(modifiers, base):
        raise BadInput(
            f"A terminal has no bytes for the key {word!r}.",
            "Leave out S- or C-, or send the bytes that the program expects as literal text.",
        )
    return modifiers + base


def find_key(word: str) -> str | None:
    """Return a key as tmux spells it, or None if the word is not a key that a program can get."""
    modifiers, base = _split_key(word)
    return modifiers + base if base and _has_bytes(modifiers, base) else None


def _split_key(word: str) -> tuple[str, str]:
    """Return the modifiers of a key, and the key itself as tmux spells it: empty if the word is not a key."""
    if len(word) == 1:
        return "", word if word.isprintable() else ""
    if len(word) == 2 and word[0] == "^" and word[1].isprintable():
        return _split_key(f"C-{word[1].lower()}")
    match = _MODIFIED.fullmatch(word)
    if match is None:
        return "", ""
    modifiers, base = match[1], match[2]
    if len(base) == 1 and modifiers:
        unknown = "C-" in modifiers and base in _NEVER_WITH_CONTROL
        return modifiers, base if base.isprintable() and not unknown else ""
    named = _BY_LOWER.get(base.lower(), "")
    if named in ("Tab", "BTab") and modifiers in ("S-", "M-S-", "S-M-"):  # the key of Shift and Tab is BTab
        return modifiers.replace("S-", ""), "BTab"
    return modifiers, named


def _has_bytes(modifiers: str, base: str) -> bool:
    """Return False for a key for which tmux 3.3a or 3.5a would type the characters of its name."""
    if base not in _NOT_SHIFTED and (len(base) > 1 or not base.isascii()):
        return True
    if "S-" in modifiers:
        return False
    if "C-" in modifiers and "M-" in modifiers:
        return base in _CONTROL_AND_META
    return "C-" not in modifiers or base not in _NOT_MODIFIED
