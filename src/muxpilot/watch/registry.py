"""All watches of one muxpilot: those that a call waits for, and those in the background.

A watch in the background is a job (`jobs/`): every muxpilot of the user knows it, and one of them runs it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import field

from muxpilot.errors import MuxpilotError, NotFound, Refused
from muxpilot.jobs.job_records import Job
from muxpilot.jobs.job_registry import JobRegistry
from muxpilot.jobs.server_jobs import ServerJobs
from muxpilot.records import mutable_object
from muxpilot.tasks import TaskSet, cancel_and_wait
from muxpilot.timing import WatchTiming
from muxpilot.tmux import Pane, PaneId, PaneStream, Tmux
from muxpilot.trace import area
from muxpilot.watch.background_watch import BackgroundWatch, WatchStatus
from muxpilot.watch.limits import WatchLimits
from muxpilot.watch.pane_watch import PaneWatch
from muxpilot.watch.probes import Probes
from muxpilot.watch.result import FindContinued, WatchResult
from muxpilot.watch.triggers import parse_triggers
from muxpilot.watch.watch_job import (
    KIND,
    WatchWork,
    describe_result,
    describe_work,
    open_watched,
)
from muxpilot.watch.watch_run import OnWatchEnd, WatchPlan, WatchRun
from muxpilot.watch.watch_start import WatchStart

# The limit for running watches, and for finished ones whose result is kept.
MOST = 200
_BUG = "a bug in muxpilot, or a damaged record"
_trace = area("watch")

# Returns the plan of a watch that another muxpilot began.
PlanTakenOver = Callable[[Tmux, PaneId, WatchWork], Awaitable[WatchPlan]]
# Returns whether the policy allows a watch of a pane.
MayWatch = Callable[[Tmux, PaneId], Awaitable[bool]]


@mutable_object
class _RunningWatch:
    """A background watch that this muxpilot runs. `is_settled` when it has begun to wait, or has ended."""

    task: asyncio.Task[None] | None = None
    start_error: Exception | None = None  # what prevented it from beginning
    is_settled: asyncio.Event = field(default_factory=asyncio.Event)


class WatchRegistry:
    """Runs watches. Those in the background are kept with their results in the jobs of their server.

    `plan_taken_over` and `may_watch` are for watches that other muxpilots began.
    """

    leaves_stopped_owners = False

    def __init__(
        self,
        jobs: JobRegistry | None = None,
        *,
        most: int = MOST,
        limits: WatchLimits | None = None,
        timing: WatchTiming | None = None,
    ) -> None:
        self.limits = limits or WatchLimits()
        self.timing = timing or WatchTiming()
        self.plan_taken_over: PlanTakenOver | None = None
        self.may_watch: MayWatch | None = None
        self.find_continued: FindContinued | None = None  # where secrets are redacted
        self.end_listeners: list[OnWatchEnd] = []  # of all clients, for watches that no client here asked for
        self.is_closing = False  # the process ends: watches are left to others
        self._jobs = jobs or JobRegistry(most=most)
        self._jobs.kinds[KIND] = self
        self.probes = Probes(self.timing)
        self._most = most
        self._running: dict[str, _RunningWatch] = {}
        self._asked_here: set[str] = set()
        self._tasks = TaskSet(_trace)

    async def run(self, plan: WatchPlan) -> WatchResult:
        """Watch until something happens, while a call waits."""
        run = WatchRun(
            plan,
            name=f"call-{plan.call}",
            probes=self.probes,
            timing=self.timing,
            find_continued=self.find_continued,
        )
        result = await run.run()
        await run.tell_end(result, [plan.listener.on_end])
        return result

    async def start(self, plan: WatchPlan) -> str:
        """Start a watch in the background. Return its id once it has begun: no later output is missed."""
        jobs = await self._jobs.of(plan.tmux)
        self._refuse_too_many()
        watch_id, running = f"w{secrets.token_hex(4)}", _RunningWatch()
        running.task = self._run_task(watch_id, running, self._run_new(jobs, watch_id, plan, running))
        try:
            await running.is_settled.wait()
            if running.start_error is not None:
                raise running.start_error
        except BaseException:
            running.task.cancel()
            raise
        self._asked_here &= jobs.jobs.keys()
        self._asked_here.add(watch_id)
        return watch_id

    @property
    def background_watches(self) -> Sequence[Job]:
        """Return the watches of all muxpilots on the servers that this one uses."""
        return tuple(self._jobs.all_of_kind(KIND))

    def get(self, watch_id: str) -> BackgroundWatch:
        """Return a background watch by its id, or raise NotFound."""
        found = self._jobs.find(watch_id, KIND)
        if found is None:
            hint = "Use notify-when to begin one."
            raise NotFound("watch", watch_id[:40], hint=hint)
        return BackgroundWatch(*found, is_asked_here=watch_id in self._asked_here)

    async def find(self, tmux: Tmux, watch_id: str) -> BackgroundWatch:
        """Return a background watch, also of another muxpilot. If that one is dead, take the watch over.

        What was printed before is checked before this returns.
        """
        with suppress(
            MuxpilotError
        ):  # no server, or it does not answer: known watches can be told all the same
            await self._jobs.of(tmux)
        watch = self.get(watch_id)
        await watch.jobs.take_over_now(watch.job)
        running = self._running.get(watch_id)
        if running is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._jobs.timing.past_output_s):
                    await running.is_settled.wait()
        return watch

    async def cancel(self, watch_id: str) -> bool:
        """Cancel a background watch of whichever muxpilot. Return whether it was still watching."""
        watch = self.get(watch_id)
        if watch.job.end is not None:
            return False
        is_cancelled = watch.jobs.end(watch.job, {"status": WatchStatus.CANCELLED.value})
        running = self._running.get(watch_id)
        if running is not None and running.task is not None:
            await cancel_and_wait([running.task])
        return is_cancelled

    async def close(self) -> None:
        """Stop all watches. Those in the background are left for other muxpilots to take over."""
        await self._tasks.close()

    # What the jobs call

    async def may_take_over(self, tmux: Tmux, job: Job) -> bool:
        """Return whether this muxpilot can watch that pane for these triggers. Raise why it cannot."""
        if self.plan_taken_over is None:
            return False
        self._refuse_too_many()
        with suppress(KeyError, TypeError, ValueError):  # a damaged job is taken over, and fails
            parse_triggers(WatchWork.parse(job.work).triggers, hosts=self.limits.hosts)
        return self.may_watch is None or await self.may_watch(tmux, PaneId(job.pane))

    def take_over(self, jobs: ServerJobs, job: Job) -> None:
        """Continue a watch of a muxpilot that has gone."""
        running = _RunningWatch()
        running.task = self._run_task(job.id, running, self._run_taken_over(jobs, job, running))

    def on_change(self, jobs: ServerJobs, job: Job) -> None:
        """Stop running a watch that was cancelled, or that another muxpilot has taken over."""
        running = self._running.get(job.id)
        if running is None or running.task in (None, asyncio.current_task()):
            return
        if job.end is not None or not jobs.is_own(job):
            _trace.debug("watch left", watch=job.id, pane=job.pane, has_ended=job.has_ended)
            assert running.task is not None
            running.task.cancel()

    # How a watch runs

    def _refuse_too_many(self) -> None:
        if len(self._running) >= self._most:
            raise Refused(f"{self._most} watches are running.", "Use cancel-watch to end some.")

    def _run_task(self, watch_id: str, running: _RunningWatch, work: Awaitable[None]) -> asyncio.Task[None]:
        self._running[watch_id] = running

        async def run() -> None:
            """Run the watch, and forget it when it has ended."""
            try:
                await work
            except Exception as error:  # noqa: BLE001 - raised by `start`
                running.start_error = error
            finally:
                self._running.pop(watch_id, None)
                running.is_settled.set()

        return self._tasks.start(run(), name=f"watch {watch_id}")

    async def _run_new(
        self, jobs: ServerJobs, watch_id: str, plan: WatchPlan, running: _RunningWatch
    ) -> None:
        """Run a watch that a client here asked for. An error before it has begun is raised."""
        begun: list[Job] = []

        def on_begin(row: Pane, stream: PaneStream, start: WatchStart, watch: PaneWatch) -> None:
            """Record the watch before its id is told."""
            work = describe_work(plan, row, stream, start.offset)
            asked_ns = time.monotonic_ns()
            begun.append(jobs.add(Job(watch_id, KIND, plan.pane, jobs.own_token, asked_ns, work)))
            running.is_settled.set()

        run = self._build_run(plan, watch_id, on_begin)
        try:
            result = await run.run()
        except Exception as error:
            if not begun:
                raise
            self._end_by_failure(jobs, begun[0], error)
            return
        await self._end(jobs, begun[0], run, result, [plan.listener.on_end])

    async def _run_taken_over(self, jobs: ServerJobs, job: Job, running: _RunningWatch) -> None:
        """Run a watch that another muxpilot began, and tell all clients here of its end."""

        def on_begin(row: Pane, stream: PaneStream, start: WatchStart, watch: PaneWatch) -> None:
            watch.is_waiting = running.is_settled

        try:
            assert self.plan_taken_over is not None
            work = WatchWork.parse(job.work)
            async with open_watched(jobs.tmux, job, work) as (row, stream):
                plan = await self.plan_taken_over(jobs.tmux, PaneId(job.pane), work)
                run = self._build_run(plan, job.id, on_begin)
                result = await run.run_on(row, stream)
        except Exception as error:  # noqa: BLE001 - get-watch reports it, and the log has the cause
            self._end_by_failure(jobs, job, error)
            return
        await self._end(jobs, job, run, result, list(self.end_listeners))

    def _build_run(
        self,
        plan: WatchPlan,
        watch_id: str,
        on_begin: Callable[[Pane, PaneStream, WatchStart, PaneWatch], None],
    ) -> WatchRun:
        return WatchRun(
            plan,
            name=watch_id,
            probes=self.probes,
            timing=self.timing,
            on_begin=on_begin,
            find_continued=self.find_continued,
        )

    async def _end(
        self,
        jobs: ServerJobs,
        job: Job,
        run: WatchRun,
        result: WatchResult,
        listeners: Iterable[OnWatchEnd | None],
    ) -> None:
        """Write down the result, then tell it, unless another muxpilot has told an end before."""
        jobs.sync()
        is_ours = jobs.is_own(job) and job.end is None
        if is_ours and jobs.end(job, {"status": WatchStatus.DONE.value, "result": describe_result(result)}):
            await run.tell_end(result, listeners)
        else:
            _trace.debug("end not told: another muxpilot has the watch", watch=job.id, pane=job.pane)

    def _end_by_failure(self, jobs: ServerJobs, job: Job, error: Exception) -> None:
        """Write down that a watch has failed. No call waits for it: get-watch reports the failure."""
        _trace.warning("watch failed", watch=job.id, error=error)
        words = str(error) if isinstance(error, MuxpilotError) else _BUG
        jobs.end(job, {"status": WatchStatus.DONE.value, "failure": words})
