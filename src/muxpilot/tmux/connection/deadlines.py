"""Until when calls wait for tmux. A timer for each call would take a tenth of the call's own time."""

from __future__ import annotations

import asyncio
from typing import Any

from muxpilot.errors import NotAnswering

_CROWD = 256  # from here on those that were answered are sorted out


class Deadline:
    """asyncio's own timeout with our words, for more than one thing in a row."""

    __slots__ = ("_limit_s", "_timeout")

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._timeout = asyncio.timeout(limit_s)

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(self, *exc: Any) -> None:
        try:
            await self._timeout.__aexit__(*exc)
        except TimeoutError:
            raise late(self._limit_s) from None


class Deadlines:
    """One timer for all answers that are waited for; it goes off at the earliest deadline, or for nothing."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[float, float, asyncio.Future[Any]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._crowd = _CROWD

    def add(self, future: asyncio.Future[Any], limit_s: float) -> None:
        due = self._loop.time() + limit_s
        self._waiting.append((due, limit_s, future))
        if len(self._waiting) > self._crowd:
            self._waiting = [each for each in self._waiting if not each[2].done()]
            self._crowd = _CROWD + 2 * len(self._waiting)
        if self._timer is None or due < self._timer.when():
            self._set_timer(due)

    def clear(self) -> None:
        """Nothing is waited for any more; the timer stays, for whoever comes next."""
        self._waiting.clear()

    def close(self) -> None:
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._go_off, due)

    def _go_off(self, now: float) -> None:
        self._timer = None
        waiting, self._waiting = self._waiting, []
        for due, limit_s, future in waiting:
            if future.done():
                continue
            if due <= now:
                future.set_exception(late(limit_s))
            else:
                self._waiting.append((due, limit_s, future))
        if self._waiting:
            self._set_timer(min(due for due, _, _ in self._waiting))


def late(limit_s: float) -> NotAnswering:
    return NotAnswering(f"tmux did not answer within {limit_s:g} s.")
