"""Run one watch: open the pane's stream, begin, wait for the event, and build the result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import field, replace

from muxpilot.errors import MuxpilotError
from muxpilot.records import record
from muxpilot.timing import WatchTiming
from muxpilot.tmux import Pane, PaneId, PaneStream, Tmux
from muxpilot.trace import area
from muxpilot.watch.mark_tracker import MarkTracker
from muxpilot.watch.pane_watch import PaneWatch, WatchEvent
from muxpilot.watch.probes import Probes
from muxpilot.watch.progress import MODES, ProgressMode, ProgressReporter, ReportProgress
from muxpilot.watch.result import FindContinued, WatchResult, build_result
from muxpilot.watch.start import StartWatch, start_now
from muxpilot.watch.trigger import Trigger
from muxpilot.watch.watch_start import WatchStart

# Gets the result of a watch, before the answer, and the exit code of a program that has ended.
OnWatchEnd = Callable[[WatchResult, int | None], Awaitable[None]]
# Gets the pane, its stream and the watch, before the watch waits for anything.
OnWatchBegin = Callable[[Pane, PaneStream, WatchStart, PaneWatch], None]
# Returns the cursor of a pane for an offset of its stream.
MakeCursor = Callable[[Tmux, PaneId, int], Awaitable[str]]
# So many bytes before the beginning of a watch tell what the pane's shell did there.
_MARKS_BEFORE_BYTES = 1 << 16


@record
class WatchListener:
    """The client of a watch: how it gets progress, at which pace, and the end notice."""

    on_progress: ReportProgress | None = None
    mode: ProgressMode = MODES["medium"]
    on_end: OnWatchEnd | None = None


@record
class WatchPlan:
    """Which pane to watch, for what, how long, and for which client.

    `start` begins the watch, and may type a command. `marks` finds the marks of the pane's shell.
    `make_cursor` returns the cursor for an offset of the pane's stream, where reading goes on afterwards.
    """

    tmux: Tmux
    pane: PaneId
    triggers: Sequence[Trigger]
    timeout_s: float
    start: StartWatch = start_now
    marks: MarkTracker = field(default_factory=MarkTracker)
    listener: WatchListener = field(default_factory=WatchListener)
    call: int = 0  # the number of the call that asked for it, for the log
    make_cursor: MakeCursor | None = None


def _ignore_begin(row: Pane, stream: PaneStream, start: WatchStart, watch: PaneWatch) -> None:
    """Do nothing when the watch begins."""


class WatchRun:
    """One watch that runs. `event` is what ended it."""

    def __init__(
        self,
        plan: WatchPlan,
        *,
        name: str,
        probes: Probes,
        timing: WatchTiming,
        on_begin: OnWatchBegin = _ignore_begin,
        find_continued: FindContinued | None = None,
    ) -> None:
        self._find_continued = find_continued
        self.event: WatchEvent | None = None
        self._plan = plan
        self._probes = probes
        self._timing = timing
        self._on_begin = on_begin
        self._trace = area("watch").child(server=plan.tmux.socket, pane=plan.pane, watch=name, call=plan.call)

    async def run(self) -> WatchResult:
        """Watch until something happens. The stream is open before anything is typed."""
        row = await self._plan.tmux.panes.get(self._plan.pane)
        async with self._plan.tmux.streams.open(self._plan.pane) as stream:
            return await self.run_on(row, stream)

    async def run_on(self, row: Pane, stream: PaneStream) -> WatchResult:
        """Watch a stream that is open until something happens."""
        plan = self._plan
        start = await self._begin(row, stream)
        watch = self._build_watch(row, start)
        self._on_begin(row, stream, start, watch)
        source = start.command_stream or stream
        try:
            self.event = await watch.run(source)
            end = source.end
            pane_end = start.pane_offset() if start.pane_offset is not None else end
        finally:
            if start.stop is not None:
                await start.stop()
        result = await build_result(
            plan.tmux,
            row,
            source,
            watch=watch,
            event=self.event,
            end=end,
            find_continued=self._find_continued,
        )
        return replace(result, cursor=await _find_cursor(plan, pane_end))

    async def tell_end(self, result: WatchResult, listeners: Iterable[OnWatchEnd | None]) -> None:
        """Tell clients about the end, each unless it takes too long."""
        code = self.event.exit_code if self.event is not None else None
        for on_end in listeners:
            if on_end is None:
                continue
            try:
                async with asyncio.timeout(self._timing.end_notice_s):
                    await on_end(result, code)
            except TimeoutError:
                self._trace.debug(
                    "client did not accept the end notice in time", seconds=self._timing.end_notice_s
                )

    async def _begin(self, row: Pane, stream: PaneStream) -> WatchStart:
        plan = self._plan
        with self._trace.step("watch start"):
            start = await plan.start(plan.tmux, row, stream)
            marks = self._marks(start)
            if start.is_past:
                marks.begin_after(stream.read(start.offset - _MARKS_BEFORE_BYTES, start.offset))
            else:
                await marks.begin(start.offset, catch_up_s=self._timing.marks_catch_up_s)
        return start

    def _marks(self, start: WatchStart) -> MarkTracker:
        """Return what finds marks. The stream of a single command has neither marks nor typing in it."""
        return self._plan.marks if start.command_stream is None else MarkTracker()

    def _build_watch(self, row: Pane, start: WatchStart) -> PaneWatch:
        plan = self._plan
        return PaneWatch(
            row,
            start,
            triggers=plan.triggers,
            timeout_s=plan.timeout_s,
            probes=self._probes,
            progress=self._build_progress(),
            marks=self._marks(start),
            timing=self._timing,
            trace=self._trace,
        )

    def _build_progress(self) -> ProgressReporter:
        listener = self._plan.listener
        return ProgressReporter(
            listener.on_progress,
            listener.mode,
            pane=self._plan.pane,
            total_s=self._plan.timeout_s,
            timing=self._timing,
        )


async def _find_cursor(plan: WatchPlan, offset: int) -> str | None:
    """Return the cursor after the output of a watch, or None if the pane is gone."""
    if plan.make_cursor is not None:
        with suppress(MuxpilotError):
            return await plan.make_cursor(plan.tmux, plan.pane, offset)
    return None
