"""Pane text as a person would see it: what could speak to a model unseen is taken out.

Gone are control characters other than line feed and tab, escape sequences unless colours were asked for,
zero-width characters, soft hyphens, bidirectional overrides, embeddings and isolates, tag characters and
stray variation selectors. A joiner or a variation selector stays where it makes an emoji or a glyph.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from muxpilot.toolkit.answers import Answer, compact

# Groups of tools whose answers hold what panes printed, or what programs call themselves and their folders.
_PANE_TEXT = frozenset({"capture", "watch", "execute", "track", "list"})
_BYTE_FOR_BYTE = frozenset({"list-buffers"})  # their names have no ids beside them

_HIDDEN_RANGES = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_SUSPECT = re.compile(f"[{_HIDDEN_RANGES}{_CONTROLS}]")
_SUSPECT_JSON = re.compile(rf"[{_HIDDEN_RANGES}\x7f-\x9f]|\\u00|\\[bfr]")
_SUSPECT_ASCII_JSON = ("\\", "\x7f")  # to look for them takes a fiftieth of the time

_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
# What stays, by its group, is tried before what goes.
_PARTS = re.compile(
    rf"(?P<joined>(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}]))"
    rf"|(?P<selected>(?<=[{_EMOJI}0-9#*])[\ufe0e\ufe0f])"
    r"|(?P<colour>\x1b\[[0-9;:]*m)"
    r"|(?P<sequence>\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]))"
    rf"|(?P<hidden>[{_HIDDEN_RANGES}{_CONTROLS}])"
)


def visible(text: str, *, colors: bool = False) -> str:
    """The text without what nobody sees; with `colors`, colour codes stay."""
    if (text.isprintable() and text.isascii()) or not _SUSPECT.search(text):
        return text
    kept = ("joined", "selected", "colour") if colors else ("joined", "selected")
    return _PARTS.sub(lambda found: found[0] if found.lastgroup in kept else "", text)


def tells_of_panes(name: str, group: str) -> bool:
    return group in _PANE_TEXT and name not in _BYTE_FOR_BYTE


def seen(answer: Answer, *, colors: bool = False) -> Answer:
    """The same for a whole answer: its text, or every text in its data."""
    if answer.structured is None:
        return replace(answer, text=visible(answer.text, colors=colors))
    if _is_clean(answer.text):
        return answer
    data = _mapped(answer.structured)
    return replace(answer, text=compact(data), structured=data)


def _is_clean(text: str) -> bool:
    if text.isascii() and not any(sign in text for sign in _SUSPECT_ASCII_JSON):
        return True
    return _SUSPECT_JSON.search(text) is None


def _mapped(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [_mapped(item) for item in value]
    if isinstance(value, dict):
        return {key: _mapped(item) for key, item in value.items()}
    return value
