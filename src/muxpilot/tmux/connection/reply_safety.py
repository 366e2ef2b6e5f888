"""Which requests can print nothing but what tmux itself says: their answers need no guard.

A command is trusted by its name if it prints nothing, and one that prints a format if that holds only
ids, numbers and our own words. An error repeats at most our arguments, in one line after tmux's words, as
long as none of them holds a line feed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from muxpilot.tmux.hosts.endpoint import Command

_SILENT = frozenset(
    {"copy-mode", "resize-pane", "resize-window", "select-pane", "select-window", "send-keys", "swap-pane"}
)
_PRINTING = {"display-message": "-p", "list-panes": "-F", "list-windows": "-F", "list-sessions": "-F"}
_PLAIN = (
    "(?:pane|window|session)_id|pane_(?:width|height|index|dead|in_mode|active)"
    "|window_(?:width|height|index|panes|active|zoomed_flag)|session_(?:windows|attached)|version|pid"
)
_PLAIN_FORMAT = re.compile(rf"(?:[^#\n]|#\{{(?:{_PLAIN})\}}|#\{{\?(?:{_PLAIN}),[a-z]*,[a-z]*\}})*")

NAMES = _SILENT | set(_PRINTING)


def prints_only_ours(commands: Sequence[Command]) -> bool:
    return all(_is_silent(command) or _is_plain(command) for command in commands)


def is_everything_itself(aliases: Iterable[str]) -> bool:
    """Whether no alias of the person's stands for one of the commands that we know."""
    return not any(alias.partition("=")[0].strip("\"' ") in NAMES for alias in aliases)


def _is_silent(command: Command) -> bool:
    return command[0] in _SILENT and not any(_has_line_feed(word) for word in command)


def _is_plain(command: Command) -> bool:
    """Every word is looked at: those that are no format are ids and flags."""
    flag = _PRINTING.get(str(command[0]))
    return flag in command and all(isinstance(word, str) and _is_plain_text(word) for word in command)


def _has_line_feed(word: str | bytes) -> bool:
    return "\n" in word if isinstance(word, str) else b"\n" in word


@lru_cache(maxsize=256)
def _is_plain_text(word: str) -> bool:
    return _PLAIN_FORMAT.fullmatch(word) is not None
