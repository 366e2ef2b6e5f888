"""The code with which a person confirms an answer in a popup, where programs can press keys in popups.

From tmux 3.4 on, a program in an agent's pane can press keys in a person's terminal with `tmux send-keys -K`,
but it cannot read there. So the popup shows a code beside the answer. It comes after the answer, which can no
longer change then: after a code that came first, a program could give the answer before the person does. One
wrong code is a no, and the next popup comes later, so that a program cannot try many codes.
"""

from __future__ import annotations

import asyncio
import secrets

from muxpilot.timing import PeopleTiming
from muxpilot.tmux import Tmux
from muxpilot.tmux.version import KEYS_REACH_POPUPS
from muxpilot.trace import area

WRONG_CODE = "a wrong code was typed"

# Digits: every keyboard has them, whatever its language.
_DIGITS = "0123456789"
_LENGTH = 4

_trace = area("people")


async def needs_code(tmux: Tmux) -> bool:
    """Return whether programs can press keys in the popups of a server."""
    return await tmux.connection.server_version() >= KEYS_REACH_POPUPS


async def make_code(tmux: Tmux) -> str:
    """Return a new code, or an empty text where none is needed."""
    return "".join(secrets.choice(_DIGITS) for _ in range(_LENGTH)) if await needs_code(tmux) else ""


class CodeCheck:
    """The code of one popup, and whether it was typed. Without a code, none is needed."""

    def __init__(self, code: str = "") -> None:
        self.code = code
        self.is_passed = not code
        self.is_failed = False

    def take(self, typed: str) -> None:
        """Take the code that was typed. Only the first one counts."""
        if self.is_passed or self.is_failed:
            return
        is_right = secrets.compare_digest(typed.encode("utf-8", "replace"), self.code.encode())
        self.is_passed, self.is_failed = is_right, not is_right


class WrongCodes:
    """Delays popups after wrong codes: twice as long after each one, until a right code is typed."""

    def __init__(self, timing: PeopleTiming) -> None:
        self._timing = timing
        self._count = 0
        self._next_popup_at = 0.0

    def note(self, check: CodeCheck) -> None:
        """Remember whether the code of a popup was typed wrong or right."""
        if check.is_failed:
            timing = self._timing
            delay_s = min(timing.wrong_code_s * 2**self._count, timing.longest_wrong_code_s)
            self._count = min(self._count + 1, 32)
            self._next_popup_at = asyncio.get_running_loop().time() + delay_s
            _trace.warning("a wrong code was typed into a popup", next_popup_s=delay_s)
        elif check.code and check.is_passed:
            self._count = 0

    @property
    def seconds_left(self) -> float:
        """Return the time until the next popup may be shown."""
        return max(0.0, self._next_popup_at - asyncio.get_running_loop().time())

    async def wait(self) -> None:
        """Wait until the next popup may be shown."""
        await asyncio.sleep(self.seconds_left)
