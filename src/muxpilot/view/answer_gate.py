"""Who may answer on the page: a browser that was given the code of the terminal which runs `muxpilot view`.

The address of the page gives no right to answer, because a model may know it. A browser gives the code once,
and gets a cookie and a key. Each answer needs both: browsers send the cookie to every port of this machine,
also to a server that an agent runs there, but only our page has the key.
"""

from __future__ import annotations

import hmac
import itertools
import secrets
import time
from collections.abc import Callable

from muxpilot.records import record
from muxpilot.trace import area

_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"  # without 0, O, 1, I and L
_CODE_LENGTH = 8
_TOKEN_BYTES = 24
_MOST_WRONG = 5
_PAUSE_S = 60.0
_MOST_BROWSERS = 8

_trace = area("view")


@record
class BrowserPass:
    """The rights of a browser that gave the code. `number` counts the browsers, for the audit log."""

    cookie: str
    key: str
    number: int = 0


class AnswerGate:
    """The code that is valid now, and the browsers that may answer.

    A code is good for one browser. After some wrong ones it is replaced, and none is taken for a while.
    """

    def __init__(
        self, print_code: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._print_code = print_code
        self._clock = clock
        self._code = ""
        self._wrong = 0
        self._closed_until = 0.0
        self._browsers: list[BrowserPass] = []
        self._numbers = itertools.count(1)
        self.renew_code()

    def renew_code(self) -> None:
        """Replace the code, and print the new one."""
        self._code = "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_LENGTH))
        self._wrong = 0
        half = _CODE_LENGTH // 2
        self._print_code(f"{self._code[:half]}-{self._code[half:]}")

    def unlock(self, given: str) -> BrowserPass | str:
        """Return the pass of a browser that gives the right code, or why there is none."""
        wait_s = self._closed_until - self._clock()
        if wait_s > 0:
            return f"There were too many wrong codes. Wait {wait_s:.0f} s."
        if not self._code:
            return "The code was used. Press Enter in the terminal of muxpilot view for another one."
        if not _is_same("".join(char for char in given.upper() if char.isalnum()), self._code):
            return self._count_wrong_code()
        self._code = ""
        cookie, key = secrets.token_urlsafe(_TOKEN_BYTES), secrets.token_urlsafe(_TOKEN_BYTES)
        made = BrowserPass(cookie, key, next(self._numbers))
        self._browsers = [*self._browsers, made][-_MOST_BROWSERS:]
        _trace.info("browser unlocked", browsers=len(self._browsers))
        self._print_code("")
        return made

    def find_browser(self, cookie: str, key: str) -> BrowserPass | None:
        """Return the pass of a browser that has given the code. Every pass is compared, in the same time."""
        found = [one for one in self._browsers if _is_same(cookie, one.cookie) & _is_same(key, one.key)]
        return found[0] if found else None

    def _count_wrong_code(self) -> str:
        self._wrong += 1
        _trace.warning("wrong code", times=self._wrong)
        if self._wrong < _MOST_WRONG:
            return "This is not the code."
        self._closed_until = self._clock() + _PAUSE_S
        self.renew_code()
        return f"There were too many wrong codes. The terminal has a new one. Wait {_PAUSE_S:.0f} s."


def _is_same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), known.encode())
