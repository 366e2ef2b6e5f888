"""Progress of a watch: how often it is told, by its mode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from muxpilot.records import record

Progress = Callable[[float, float | None, str], Coroutine[Any, Any, None]]


async def unheard(progress: float, total: float | None, message: str) -> None:
    """For a watch that nobody waits for."""


# However many lines come, a client is told no more often than this.
_SHORTEST_S = 0.05


@record
class Mode:
    """Progress is told after so many seconds or so many new lines, whichever comes first."""

    seconds: float
    lines: int


RARELY = Mode(86_400.0, 1_000_000_000)
# Those that count lines only still say now and then that they live: some clients give up after a minute.
_ALIVE_S = 30.0
MODES = {
    "quick": Mode(1.0, 10),
    "medium": Mode(5.0, 40),
    "slow": Mode(30.0, 100),
    "line": Mode(_ALIVE_S, 1),
    "bunch": Mode(_ALIVE_S, 10),
    "screen": Mode(_ALIVE_S, 40),
}


class Teller:
    """Tells a client how a watch goes, without making the watch wait for the client."""

    def __init__(
        self, tell: Progress = unheard, mode: Mode = RARELY, *, pane: str = "", total_s: float | None = None
    ) -> None:
        self._tell = tell
        self._mode = mode
        self._pane = pane
        self._total_s = total_s
        self._began = self._last = asyncio.get_running_loop().time()
        self._new = 0
        self._telling: asyncio.Task[None] | None = None

    def note(self, lines: int) -> None:
        self._new += lines

    @property
    def due(self) -> float:
        """When to tell next, as the event loop counts."""
        return self._last + (_SHORTEST_S if self._new >= self._mode.lines else self._mode.seconds)

    def tell(self, now: float) -> None:
        if now < self.due:
            return
        self._last = now
        if self._telling is not None and not self._telling.done():
            return
        lines, self._new = self._new, 0
        seconds = now - self._began
        words = f"[{self._pane} +{seconds:.0f}s] {lines} new line{'' if lines == 1 else 's'}"
        self._telling = asyncio.create_task(self._tell(seconds, self._total_s, words))

    def close(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
