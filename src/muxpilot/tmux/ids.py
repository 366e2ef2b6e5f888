"""tmux's own ids, as types: `$1` is a session, `@2` a window, `%3` a pane."""

from __future__ import annotations

import re
from typing import ClassVar, Self

from muxpilot.errors import BadInput

_NUMBER = re.compile("[0-9]{1,10}")


class _Id(str):
    sigil: ClassVar[str]
    noun: ClassVar[str]
    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if not cls.matches(text):
            raise BadInput(f"{text!r} is not a {cls.noun} id.", f"A {cls.noun} id looks like {cls.sigil}3.")
        return super().__new__(cls, text)

    @classmethod
    def matches(cls, text: str) -> bool:
        return text[:1] == cls.sigil and _NUMBER.fullmatch(text, 1) is not None


class SessionId(_Id):
    sigil = "$"
    noun = "session"


class WindowId(_Id):
    sigil = "@"
    noun = "window"


class PaneId(_Id):
    sigil = "%"
    noun = "pane"
