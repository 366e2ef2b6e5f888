"""Who may answer on the page: a browser that was given the code of the terminal which runs `muxpilot view`.

The address of the page gives no right to answer, because a model may know it. A browser gives the code once,
and gets a cookie and a key. Each answer needs both: browsers send the cookie to every port of this machine,
also to a server that an agent runs there, but only our page has the key.
"""

from __future__ import annotations

import hmac
import itertools
import math
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
# A terminal that others may read shows a code for so long.
SHOWN_S = 60.0
_USED_CODE = "The code was used. Press Enter in the terminal of muxpilot view for another one."
_NO_CODE = "There is no code now. Press Enter in the terminal of muxpilot view to see one."

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
    `hide_code` is given where others may read the terminal: there is a code only for a short time after
    `renew_code`, and then `hide_code` is called.
    """

    def __init__(
        self,
        print_code: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        *,
        hide_code: Callable[[], None] | None = None,
    ) -> None:
        self._print_code = print_code
        self._hide_code = hide_code
        self._valid_until = math.inf
        self._clock = clock
        self._code = ""
        self._wrong = 0
        self._closed_until = 0.0
        self._browsers: list[BrowserPass] = []
        self._numbers = itertools.count(1)
        if hide_code is None:
            self.renew_code()
        else:
            hide_code()

    def renew_code(self) -> None:
        """Replace the code, and print the new one."""
        self._code = "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_LENGTH))
        self._wrong = 0
        if self._hide_code is not None:
            self._valid_until = self._clock() + SHOWN_S
        half = _CODE_LENGTH // 2
        self._print_code(f"{self._code[:half]}-{self._code[half:]}")

    def drop_old_code(self) -> None:
        """Forget a code that has been shown for long enough."""
        if self._hide_code is not None and self._code and self._clock() >= self._valid_until:
            self._code = ""
            self._hide_code()

    def unlock(self, given: str) -> BrowserPass | str:
        """Return the pass of a browser that gives the right code, or why there is none."""
        wait_s = self._closed_until - self._clock()
        if wait_s > 0:
            return f"There were too many wrong codes. Wait {wait_s:.0f} s."
        self.drop_old_code()
        if not self._code:
            return _NO_CODE if self._hide_code is not None else _USED_CODE
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
        if self._hide_code is not None:
            self._valid_until = 0
            self.drop_old_code()
            return f"There were too many wrong codes. Wait {_PAUSE_S:.0f} s."
        self.renew_code()
        return f"There were too many wrong codes. The terminal has a new one. Wait {_PAUSE_S:.0f} s."


def _is_same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), known.encode())
