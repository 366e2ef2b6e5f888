"""What a tool declares of an argument beyond its type: `Annotated[str, "Command", ArgumentFlag.SHELL]`."""

from __future__ import annotations

from enum import Enum


class ArgumentFlag(Enum):
    """How policy, audit and the resolution of targets treat the value of an argument."""

    SHELL = "a shell runs it: the command filter judges it"
    LINES = "a program reads it as lines, and may be a shell: the command filter judges what is shell"
    TYPED = "it is typed into a pane: it may be the answer to a request for a password"
    SECRET = "it is never logged"
    EVIDENT = "its name says what it is: the brief listing leaves its description out"
    MAIN = "a pane; left out, it is the pane `main` of the workspace"


class PressedKey(str):
    """A key that a tool presses, by tmux's name for it. Other strings that a tool types are text."""

    __slots__ = ()
