"""Deadlines of calls to tmux. One timer serves all calls: a timer for each would add a tenth to its time."""

from __future__ import annotations

import asyncio
from typing import Any

from muxpilot.errors import NotAnswering
from muxpilot.trace import Trace, area

_PRUNE_ABOVE = 256  # remove answered calls from the list when it is longer than this


class Deadline:
    """A context manager like `asyncio.timeout` that raises NotAnswering, for several steps in a row."""

    __slots__ = ("_limit_s", "_timeout", "_trace")

    def __init__(self, limit_s: float, trace: Trace | None = None) -> None:
        self._limit_s = limit_s
        self._timeout = asyncio.timeout(limit_s)
        self._trace = trace

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(self, *exc: Any) -> None:
        try:
            await self._timeout.__aexit__(*exc)
        except TimeoutError:
            (self._trace or area("tmux")).warning("deadline missed", limit_s=self._limit_s)
            raise timeout_error(self._limit_s) from None


class ReplyDeadlines:
    """One timer for all replies that are waited for. It fires at the earliest deadline of them.

    A timer that fires after its call was answered does nothing and is set again.
    """

    def __init__(self, trace: Trace | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._pending: list[tuple[float, float, asyncio.Future[Any]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._prune_above = _PRUNE_ABOVE
        self._trace = trace

    def add(self, future: asyncio.Future[Any], limit_s: float) -> None:
        """Let a future fail with NotAnswering if it is not done in time."""
        due = self._loop.time() + limit_s
        self._pending.append((due, limit_s, future))
        if len(self._pending) > self._prune_above:
            self._pending = [each for each in self._pending if not each[2].done()]
            self._prune_above = _PRUNE_ABOVE + 2 * len(self._pending)
        if self._timer is None or due < self._timer.when():
            self._set_timer(due)

    def clear(self) -> None:
        """Forget all replies, because none is waited for. The timer stays for the next one."""
        self._pending.clear()

    def close(self) -> None:
        """Forget all replies, and stop the timer."""
        self._pending.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._on_timer, due)

    def _on_timer(self, now: float) -> None:
        self._timer = None
        pending, self._pending = self._pending, []
        for due, limit_s, future in pending:
            if future.done():
                continue
            if due <= now:
                (self._trace or area("tmux")).warning("deadline missed", limit_s=limit_s)
                future.set_exception(timeout_error(limit_s))
            else:
                self._pending.append((due, limit_s, future))
        if self._pending:
            self._set_timer(min(due for due, _, _ in self._pending))


def timeout_error(limit_s: float) -> NotAnswering:
    return NotAnswering(f"tmux did not answer within {limit_s:g} s.")
