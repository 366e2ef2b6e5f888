"""tmux's own ids, as types: `$1` is a session, `@2` a window, `%3` a pane.

Each object has exactly one id. tmux reads `%03` as `%3`, but code that compares ids, such as the policy,
would take it for another pane. So ids with leading zeros are refused.
"""

from __future__ import annotations

import re
from typing import ClassVar, Self

from muxpilot.errors import BadInput


class _Id(str):
    """A string that is known to be an id of one kind of object."""

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
    """The id of a session, such as `$1`."""

    sigil = "$"
    noun = "session"


class WindowId(_Id):
    """The id of a window, such as `@2`."""

    sigil = "@"
    noun = "window"


class PaneId(_Id):
    """The id of a pane, such as `%3`."""

    sigil = "%"
    noun = "pane"
