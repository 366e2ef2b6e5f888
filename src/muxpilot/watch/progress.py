"""Progress of a watch: how often it is reported, by its mode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from muxpilot.records import record
from muxpilot.tasks import TaskSet
from muxpilot.timing import WatchTiming
from muxpilot.trace import area

# Gets the seconds since the beginning, the timeout, and a text.
ReportProgress = Callable[[float, float | None, str], Coroutine[Any, Any, None]]


@record
class ProgressMode:
    """Progress is reported after so many seconds or so many new lines, whichever comes first."""

    seconds: float
    lines: int


# A mode that counts lines also reports now and then: some clients give up after a minute of silence.
_KEEPALIVE_S = 30.0
MODES = {
    "quick": ProgressMode(1.0, 10),
    "medium": ProgressMode(5.0, 40),
    "slow": ProgressMode(30.0, 100),
    "line": ProgressMode(_KEEPALIVE_S, 1),
    "bunch": ProgressMode(_KEEPALIVE_S, 10),
    "screen": ProgressMode(_KEEPALIVE_S, 40),
}


class ProgressReporter:
    """Reports a watch's progress to a client without making the watch wait for the client.

    Without `report` it reports nothing: no call waits for the watch.
    """

    def __init__(
        self,
        report: ReportProgress | None = None,
        mode: ProgressMode = MODES["medium"],
        *,
        pane: str = "",
        total_s: float | None = None,
        timing: WatchTiming | None = None,
    ) -> None:
        self._report = report
        self._mode = mode
        self._pane = pane
        self._total_s = total_s
        self._shortest_s = (timing or WatchTiming()).shortest_progress_s
        self._began = self._last = asyncio.get_running_loop().time()
        self._new_lines = 0
        self._tasks = TaskSet(area("watch"))

    def note_lines(self, lines: int) -> None:
        self._new_lines += lines

    @property
    def due(self) -> float:
        """Return when to report next, as the event loop counts."""
        if self._report is None:
            return float("inf")
        return self._last + (self._shortest_s if self._new_lines >= self._mode.lines else self._mode.seconds)

    def report_if_due(self, now: float) -> None:
        """Report the new lines if it is time, unless the client has not taken the last report yet."""
        if self._report is None or now < self.due:
            return
        self._last = now
        if len(self._tasks):
            return
        lines, self._new_lines = self._new_lines, 0
        seconds = now - self._began
        text = f"[{self._pane} +{seconds:.0f}s] {lines} new line{'' if lines == 1 else 's'}"
        self._tasks.start(self._report(seconds, self._total_s, text))

    async def close(self) -> None:
        await self._tasks.close()
