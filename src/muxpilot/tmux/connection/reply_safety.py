"""Which requests can print no foreign text, so that their replies need no guard (see protocol.py).

A command is trusted by its name if it prints nothing. One that prints a format is trusted if the format
holds only ids, numbers and our own text. An error message repeats at most our arguments, in one line after
tmux's own text, as long as none of them holds a line feed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from muxpilot.tmux.connection.control_line import BracedCommands
from muxpilot.tmux.connection.protocol import CommandReply
from muxpilot.tmux.hosts.endpoint import Command

_PRINT_NOTHING = frozenset(
    {"copy-mode", "resize-pane", "resize-window", "select-pane", "select-window", "send-keys", "swap-pane"}
)
_PRINT_FORMAT = {"display-message": "-p", "list-panes": "-F", "list-windows": "-F", "list-sessions": "-F"}
_PLAIN_VARIABLES = (
    "(?:pane|window|session)_id|pane_(?:width|height|index|dead|in_mode|active)"
    "|window_(?:width|height|index|panes|active|zoomed_flag)|session_(?:windows|attached)|version|pid"
)
_PLAIN_FORMAT = re.compile(
    rf"(?:[^#\n]|#\{{(?:{_PLAIN_VARIABLES})\}}|#\{{\?(?:{_PLAIN_VARIABLES}),[a-z]*,[a-z]*\}})*"
)

# A condition that prints nothing, or fails: see typing_ticket.py. `is_answered_by_each` has seen its blocks.
_CONDITION = {"if-shell", "set-environment", "show-environment"}
CONDITION_CHECK: Command = ("if-shell", "-F", "1", BracedCommands.of(("display-message", "-p", "a")))

KNOWN_COMMANDS = _PRINT_NOTHING | set(_PRINT_FORMAT) | _CONDITION


def prints_no_foreign_text(commands: Sequence[Command]) -> bool:
    return all(_is_silent(command) or _prints_plain_format(command) for command in commands)


def is_answered_by_each(reply: CommandReply) -> bool:
    """Return whether `CONDITION_CHECK` was answered by one block for the condition, one for its command."""
    return [block.lines for block in reply.blocks] == [(), (b"a",)]


def has_no_shadowing_alias(aliases: Iterable[str]) -> bool:
    """Return whether no `command-alias` of the person replaces one of the commands known here."""
    return not any(alias.partition("=")[0].strip("\"' ") in KNOWN_COMMANDS for alias in aliases)


def _is_silent(command: Command) -> bool:
    if command[0] not in _PRINT_NOTHING:
        return False
    for word in command:  # noqa: SIM110 - a generator costs twice as much, and each request comes here
        if ("\n" in word) if isinstance(word, str) else (b"\n" in word):
            return False
    return True


def _prints_plain_format(command: Command) -> bool:
    """Check every word of the command: those that are not a format are ids and flags, which are plain."""
    flag = _PRINT_FORMAT.get(str(command[0]))
    return flag in command and all(isinstance(word, str) and _is_plain_text(word) for word in command)


@lru_cache(maxsize=256)
def _is_plain_text(word: str) -> bool:
    return _PLAIN_FORMAT.fullmatch(word) is not None
