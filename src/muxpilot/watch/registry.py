"""All watches of one muxpilot: those that a call waits for, and those in the background."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum

from muxpilot.errors import MuxpilotError, NotFound, Refused
from muxpilot.records import record
from muxpilot.tasks import TaskSet, cancel_and_wait
from muxpilot.timing import WatchTiming
from muxpilot.tmux import PaneId, Tmux
from muxpilot.trace import Trace, area
from muxpilot.watch.limits import WatchLimits
from muxpilot.watch.mark_tracker import MarkTracker
from muxpilot.watch.pane_watch import PaneWatch, WatchEvent
from muxpilot.watch.probes import Probes
from muxpilot.watch.progress import MODES, ProgressMode, ProgressReporter, ReportProgress
from muxpilot.watch.result import WatchResult, build_result
from muxpilot.watch.start import StartWatch, start_now
from muxpilot.watch.trigger import Trigger

# The limit for running watches, and for finished ones whose result is kept.
MOST = 200

# Gets the result of a watch, before the answer, and the exit code of a program that has ended.
OnWatchEnd = Callable[[WatchResult, int | None], Awaitable[None]]

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


class WatchStatus(Enum):
    """How far a background watch is; the values are words of the answers of tools."""

    WATCHING = "watching"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(slots=True, eq=False)
class BackgroundWatch:
    """A watch that no call waits for. When it is done it has a `result`, or a `failure`."""

    id: str
    plan: WatchPlan
    status: WatchStatus = WatchStatus.WATCHING
    result: WatchResult | None = None
    failure: str | None = None
    start_error: Exception | None = None  # what prevented it from beginning
    task: asyncio.Task[None] | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_cancelled(self) -> bool:
        return self.status is WatchStatus.CANCELLED


class WatchRegistry:
    """Runs watches, and keeps those in the background with their results."""

    def __init__(
        self, *, most: int = MOST, limits: WatchLimits | None = None, timing: WatchTiming | None = None
    ) -> None:
        self.limits = limits or WatchLimits()
        self.timing = timing or WatchTiming()
        self._probes = Probes(self.timing)
        self._most = most
        self._watches: dict[str, BackgroundWatch] = {}
        self._tasks = TaskSet(area("watch"))

    async def run(self, plan: WatchPlan) -> WatchResult:
        """Watch until something happens, while a call waits."""
        return await self._run(plan, f"call-{plan.call}", asyncio.Event())

    async def _run(self, plan: WatchPlan, watch_id: str, begun: asyncio.Event) -> WatchResult:
        """Watch until something happens. The stream is open before anything is typed."""
        trace = area("watch").child(server=plan.tmux.socket, pane=plan.pane, watch=watch_id, call=plan.call)
        row = await plan.tmux.panes.get(plan.pane)
        progress = ProgressReporter(
            plan.listener.on_progress,
            plan.listener.mode,
            pane=plan.pane,
            total_s=plan.timeout_s,
            timing=self.timing,
        )
        async with plan.tmux.streams.open(plan.pane) as stream:
            with trace.step("watch start"):
                start = await plan.start(plan.tmux, row, stream)
                # The stream of a single command has neither marks nor typing in it.
                marks = plan.marks if start.command_stream is None else MarkTracker()
                if start.is_past:
                    marks.begin_after(stream.read(start.offset - _MARKS_BEFORE_BYTES, start.offset))
                else:
                    await marks.begin(start.offset, catch_up_s=self.timing.marks_catch_up_s)
            begun.set()
            watch = PaneWatch(
                row,
                start,
                triggers=plan.triggers,
                timeout_s=plan.timeout_s,
                probes=self._probes,
                progress=progress,
                marks=marks,
                timing=self.timing,
                trace=trace,
            )
            source = start.command_stream or stream
            try:
                event = await watch.run(source)
                end = source.end
                pane_end = start.pane_offset() if start.pane_offset is not None else end
            finally:
                if start.stop is not None:
                    await start.stop()
            result = await build_result(plan.tmux, row, source, watch=watch, event=event, end=end)
            result = replace(result, cursor=await _find_cursor(plan, pane_end))
        await self._notify_end(plan, result, event, trace)
        return result

    async def _notify_end(
        self, plan: WatchPlan, result: WatchResult, event: WatchEvent, trace: Trace
    ) -> None:
        """Tell the client about the end, unless it takes too long."""
        if plan.listener.on_end is None:
            return
        try:
            async with asyncio.timeout(self.timing.end_notice_s):
                await plan.listener.on_end(result, event.exit_code)
        except TimeoutError:
            trace.debug("client did not accept the end notice in time", seconds=self.timing.end_notice_s)

    async def start(self, plan: WatchPlan) -> str:
        """Start a watch in the background. Return its id once it has begun: no later output is missed."""
        self._make_room()
        watch = BackgroundWatch(f"w{secrets.token_hex(4)}", plan)
        watch.task = self._tasks.start(self._run_in_background(watch), name=f"watch {watch.id}")
        self._watches[watch.id] = watch
        beginning = asyncio.create_task(watch.begun.wait())
        try:
            await asyncio.wait({watch.task, beginning}, return_when=asyncio.FIRST_COMPLETED)
            if watch.start_error is not None:
                raise watch.start_error
        except BaseException:
            watch.task.cancel()
            del self._watches[watch.id]
            raise
        finally:
            beginning.cancel()
        return watch.id

    @property
    def background_watches(self) -> Sequence[BackgroundWatch]:
        return tuple(self._watches.values())

    def get(self, watch_id: str) -> BackgroundWatch:
        """Return a background watch by its id, or raise NotFound."""
        if watch_id not in self._watches:
            hint = "Use notify-when to begin one."
            raise NotFound("watch", watch_id[:40], hint=hint)
        return self._watches[watch_id]

    async def cancel(self, watch_id: str) -> bool:
        """Cancel a background watch. Return whether it was still watching."""
        watch = self.get(watch_id)
        if watch.status is not WatchStatus.WATCHING or watch.task is None:
            return False
        await cancel_and_wait([watch.task])
        return watch.is_cancelled

    async def close(self) -> None:
        await self._tasks.close()

    async def _run_in_background(self, watch: BackgroundWatch) -> None:
        try:
            watch.result = await self._run(watch.plan, watch.id, watch.begun)
            watch.status = WatchStatus.DONE
        except asyncio.CancelledError:
            watch.status = WatchStatus.CANCELLED
            raise
        except Exception as error:  # noqa: BLE001 - `start` raises it, or get-watch reports it
            watch.status = WatchStatus.DONE
            if not watch.begun.is_set():
                watch.start_error = error
                return
            # No call waits for this task: get-watch reports the failure, and the log has the cause.
            area("watch").warning("watch failed", watch=watch.id, error=error)
            watch.failure = str(error) if isinstance(error, MuxpilotError) else "a bug in muxpilot"
        finally:
            watch.ended.set()

    def _make_room(self) -> None:
        """Forget the oldest finished watches; refuse another watch if too many are running."""
        finished = [watch for watch in self._watches.values() if watch.status is not WatchStatus.WATCHING]
        for watch in finished[: max(0, len(finished) - self._most + 1)]:
            del self._watches[watch.id]
        if sum(watch.status is WatchStatus.WATCHING for watch in self._watches.values()) >= self._most:
            raise Refused(f"{self._most} watches are running.", "Use cancel-watch to end some.")


async def _find_cursor(plan: WatchPlan, offset: int) -> str | None:
    """Return the cursor after the output of a watch, or None if the pane is gone."""
    if plan.make_cursor is not None:
        with suppress(MuxpilotError):
            return await plan.make_cursor(plan.tmux, plan.pane, offset)
    return None
