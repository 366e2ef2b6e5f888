"""tmux's own ids, as types: `$1` is a session, `@2` a window, `%3` a pane.

Each thing has one id. tmux would take `%03` for `%3`; whoever judges by id would take it for another pane.
"""

from __future__ import annotations

import re
from typing import ClassVar, Self

from muxpilot.errors import BadInput


class _Id(str):
    sigil: ClassVar[str]
    noun: ClassVar[str]
    _form: ClassVar[re.Pattern[str]]
    __slots__ = ()

    def __init_subclass__(cls) -> None:
        cls._form = re.compile(re.escape(cls.sigil) + "(0|[1-9][0-9]{0,9})")

    def __new__(cls, text: str) -> Self:
        if not cls._form.fullmatch(text):
            raise BadInput(f"{text!r} is not a {cls.noun} id.", f"A {cls.noun} id looks like {cls.sigil}3.")
        return str.__new__(cls, text)

    @classmethod
    def matches(cls, text: str) -> bool:
        return cls._form.fullmatch(text) is not None


class SessionId(_Id):
    sigil = "$"
    noun = "session"


class WindowId(_Id):
    sigil = "@"
    noun = "window"


class PaneId(_Id):
    sigil = "%"
    noun = "pane"
