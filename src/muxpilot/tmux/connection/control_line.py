"""The line of a request in control mode: commands with their arguments quoted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from muxpilot.tmux.formats import MarkedFormat
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.quote import quote_for_control_line

# Commands that are sent again and again with the same ids and formats. None of them carries a caller's text.
_REPEATED = frozenset({"copy-mode", "list-panes", "list-windows", "list-sessions"})


def format_control_line(commands: Sequence[Command]) -> bytes:
    return b" ; ".join([_format_command(command) for command in commands])


def _format_command(command: Command) -> bytes:
    if command[0] in _REPEATED and command[-1].__class__ is not MarkedFormat:
        return _format_repeated(command)
    return _quote_words(command)


@lru_cache(maxsize=256)
def _format_repeated(command: Command) -> bytes:
    return _quote_words(command)


def _quote_words(command: Command) -> bytes:
    return b" ".join(
        [word if isinstance(word, BracedCommands) else quote_for_control_line(word) for word in command]
    )


class BracedCommands(bytes):
    """Commands in braces, an argument of if-shell: they are already quoted for a control line."""

    __slots__ = ()

    @classmethod
    def of(cls, *commands: Command) -> BracedCommands:
        return cls(b"{ " + format_control_line(commands) + b" }")
