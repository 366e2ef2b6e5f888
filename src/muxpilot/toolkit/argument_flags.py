"""What a tool declares of an argument beyond its type: `Annotated[str, "Command", Mark.SHELL]`."""

from __future__ import annotations

from enum import Enum


class Mark(Enum):
    SHELL = "a shell runs it: the command filter judges it"
    LINES = "a program reads it as lines, which may be a shell: judged as far as it is shell"
    SECRET = "never in a log"


class Key(str):
    """A key that a tool presses, by tmux's name; other strings that it types are text."""

    __slots__ = ()
