"""Remove from pane text what a person would not see but a model would read.

Removed are control characters other than line feed and tab, escape sequences (colours may stay), zero-width
characters, soft hyphens, bidirectional overrides, embeddings and isolates, tag characters and stray variation
selectors. A joiner or a variation selector stays where it is part of an emoji or a glyph.
"""

from __future__ import annotations

from muxpilot.lazy_pattern import lazy_pattern
from muxpilot.terminal.escapes import CSI, ESC
from muxpilot.terminal.printable import is_printable_ascii
from muxpilot.terminal.tokens import Tokenizer, TokenKind

_HIDDEN_RANGES = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_SUSPECT = lazy_pattern(f"[{_HIDDEN_RANGES}{_CONTROLS}]")
_SUSPECT_JSON = lazy_pattern(rf"[{_HIDDEN_RANGES}\x7f-\x9f]|\\u00|\\[bfr]")
_SUSPECT_ASCII_JSON = ("\\", "\x7f")  # searching for these takes a fiftieth of the time

_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
# The groups that may stay are tried before those that are removed.
_PARTS = lazy_pattern(
    rf"(?P<joined>(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}]))"
    rf"|(?P<selected>(?<=[{_EMOJI}0-9#*])[\ufe0e\ufe0f])"
    rf"|(?P<hidden>[{_HIDDEN_RANGES}{_CONTROLS}])"
)


def sanitize_text(text: str, *, colors: bool = False) -> str:
    """Return the text without hidden characters; with `colors`, colour codes stay."""
    if is_printable_ascii(text):
        return text  # far faster than the pattern
    if not _SUSPECT.search(text):
        return text
    return _strip_sequences(text, colors=colors) if ESC in text else _strip_hidden(text)


def _strip_hidden(text: str) -> str:
    return _PARTS.sub(lambda found: "" if found.lastgroup == "hidden" else found[0], text)


def _strip_sequences(text: str, *, colors: bool) -> str:
    """Return the text without sequences. The text around a removed one is judged as it stands afterwards."""
    pieces: list[str] = []
    kept: list[str] = []  # colour codes, in order; a mark in the text stands for each
    for kind, name, parameters in Tokenizer().feed(text):
        if kind in (TokenKind.TEXT, TokenKind.CONTROL):
            pieces.append(name.replace(ESC, ""))
        elif colors and kind is TokenKind.CSI and name == "m":
            kept.append(f"{CSI}{parameters}m")
            pieces.append(ESC)
    if not kept:
        return _strip_hidden("".join(pieces))
    parts = [_strip_hidden(part) for part in "".join(pieces).split(ESC)]
    return parts[0] + "".join(code + part for code, part in zip(kept, parts[1:], strict=True))


def is_clean_json(text: str) -> bool:
    """Return True if no string in this JSON text can contain a hidden character. Cheaper than parsing it."""
    if text.isascii() and not any(sign in text for sign in _SUSPECT_ASCII_JSON):
        return True
    return _SUSPECT_JSON.search(text) is None
