"""The jobs of one tmux server, as this muxpilot sees them: its own, and those of other muxpilots.

A change by another muxpilot is noticed by a change of the log's file. Only while there are unfinished jobs of
others does this muxpilot look about once a second whether their owners live. It takes over the jobs of an
owner that is dead or, for some kinds of jobs, has been stopped for some seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from muxpilot.errors import BadInput, Denied, MuxpilotError, NotFound
from muxpilot.jobs.job_log import JobLog
from muxpilot.jobs.job_records import Fields, Job
from muxpilot.journal.folder_watch import FolderChange
from muxpilot.journal.owners import OwnerState
from muxpilot.tasks import ChangeSignal, TaskSet
from muxpilot.timing import JobTiming
from muxpilot.tmux import PaneId, Tmux
from muxpilot.trace import Trace


class JobKind(Protocol):
    """What watches, or recordings, do as jobs."""

    @property
    def leaves_stopped_owners(self) -> bool:
        """Return whether a job stays with an owner that is stopped but not dead."""

    async def may_take_over(self, tmux: Tmux, job: Job) -> bool:
        """Return whether the policy of this muxpilot allows the job."""

    def take_over(self, jobs: ServerJobs, job: Job) -> None:
        """Continue a job that has become ours."""

    def on_change(self, jobs: ServerJobs, job: Job) -> None:
        """Handle a change of a job: another muxpilot may have taken it, stopped it or ended it."""


class ServerJobs:
    """All jobs of one life of a tmux server. `changed` is notified after each change."""

    def __init__(
        self,
        tmux: Tmux,
        log: JobLog,
        kinds: Mapping[str, JobKind],
        *,
        key: str,
        timing: JobTiming,
        trace: Trace,
    ) -> None:
        self.tmux = tmux
        self.key = key
        self.changed = ChangeSignal()
        self.checks_owners = True
        self.folder: Path | None = None
        self.stop_watching: Callable[[], None] = _do_nothing
        self.on_folder_gone: Callable[[], object] = _do_nothing
        self._log = log
        self._kinds = kinds
        self._timing = timing
        self._trace = trace
        self._tasks = TaskSet(trace)
        self._owner_check: asyncio.Task[None] | None = None
        self._stopped_since: dict[str, float] = {}  # by the token of the owner
        self._left_to_others: set[str] = set()
        self._is_closed = False

    @property
    def jobs(self) -> Mapping[str, Job]:
        return self._log.history.jobs

    @property
    def own_token(self) -> str:
        return self._log.own_token

    def is_own(self, job: Job) -> bool:
        return self._log.is_own(job)

    def owner_state(self, job: Job) -> OwnerState:
        return self._log.owner_state(job)

    def of_pane(self, kind: str, pane: PaneId) -> list[Job]:
        """Return the jobs of one kind in a pane, the oldest first."""
        return [job for job in self.jobs.values() if (job.kind, job.pane) == (kind, pane)]

    def on_folder_change(self, change: FolderChange, name: str) -> bool:
        """Read the log after a change in its folder. Return whether there was something new."""
        if change is not FolderChange.WRITTEN:
            self.check_folder()
        return not self._is_closed and self.sync()

    def check_folder(self) -> None:
        """Call `on_folder_gone` if the folder was removed.

        inotify tells that only when no process is in it any more, as the program of a pane's pipe is.
        """
        if self.folder is not None and not self.folder.exists():
            self._trace.debug("folder of jobs is gone", path=self.folder)
            self.folder = None
            self.on_folder_gone()

    def sync(self) -> bool:
        """Take in what other muxpilots have written. Return whether there was something new."""
        return self._handle(self._log.sync())

    def add(self, job: Job) -> Job:
        """Write down a new job of this muxpilot. Return it as all muxpilots know it."""
        self._handle(self._log.add(job))
        return self.jobs[job.id]

    def note_progress(self, job: Job, progress: Fields) -> None:
        self._handle(self._log.note_progress(job, progress))

    def ask_to_stop(self, job: Job) -> None:
        """Ask the owner of a job to end it."""
        self._handle(self._log.ask_to_stop(job))

    def end(self, job: Job, result: Fields) -> bool:
        """Write down the end of a job. Return False if another muxpilot has ended it before."""
        self._handle(self._log.end(job, result))
        return job.end is not None and job.end.by == self.own_token and job.end.result == result

    async def take_over(self, job: Job) -> bool:
        """Take responsibility for a job and continue it. Return False if another muxpilot has it."""
        kind = self._kinds.get(job.kind)
        if kind is None or not await self._may_take_over(kind, job):
            return False
        if job.has_ended or self._is_closed or self.is_own(job):
            return self.is_own(job)
        self._handle(self._log.take_over(job))
        is_ours = self.is_own(job) and job.end is None
        if is_ours:
            kind.take_over(self, job)
        return is_ours

    async def take_over_now(self, job: Job) -> bool:
        """Take over a job of a dead owner without waiting for the next check. Return whether it was."""
        if not job.has_ended and not self.is_own(job) and self.owner_state(job) is OwnerState.DEAD:
            return await self.take_over(job)
        return False

    async def wait_for_end(self, job: Job, timeout_s: float | None = None) -> bool:
        """Wait until a job has ended. Return False after the timeout."""
        if timeout_s is not None:
            return await self.changed.wait_until(lambda: job.has_ended, timeout_s)
        while not job.has_ended:
            await self.changed.wait()
        return True

    async def close(self) -> None:
        """Stop looking. The jobs of this muxpilot are left as they are, for others to take over."""
        self._is_closed = True
        self.stop_watching()
        await self._tasks.close()
        self._log.close()

    def _handle(self, changed: Iterable[Job]) -> bool:
        """Let the kinds of the changed jobs act. Return whether there are any."""
        jobs = list(changed)
        for job in jobs:
            kind = self._kinds.get(job.kind)
            if kind is not None:
                kind.on_change(self, job)
        if jobs:
            self.changed.notify()
        self._start_owner_check()
        return bool(jobs)

    def _start_owner_check(self) -> None:
        is_running = self._owner_check is not None and not self._owner_check.done()
        if self.checks_owners and not is_running and not self._is_closed and self._jobs_of_others():
            self._owner_check = self._tasks.start(self._check_owners(), name="check owners of jobs")

    def _jobs_of_others(self) -> list[Job]:
        unfinished = self._log.history.unfinished_jobs
        return [job for job in unfinished if not self.is_own(job) and self._may_be_ours(job)]

    def _may_be_ours(self, job: Job) -> bool:
        return job.kind in self._kinds and job.id not in self._left_to_others

    async def _check_owners(self) -> None:
        """Take over jobs of dead owners, as long as there are unfinished jobs of others."""
        while jobs := self._jobs_of_others():
            states = {owner: self._log.owner_state(job) for owner, job in {j.owner: j for j in jobs}.items()}
            now = asyncio.get_running_loop().time()
            self._stopped_since = {
                owner: self._stopped_since.get(owner, now)
                for owner, state in states.items()
                if state is OwnerState.STOPPED
            }
            for job in jobs:
                if self._is_abandoned(job, states[job.owner], now):
                    await self.take_over(job)
            await asyncio.sleep(self._timing.owner_check_s)
            self.sync()

    def _is_abandoned(self, job: Job, state: OwnerState, now: float) -> bool:
        if state is not OwnerState.STOPPED:
            return state is OwnerState.DEAD
        kind = self._kinds.get(job.kind)
        if kind is None or kind.leaves_stopped_owners:
            return False
        return now - self._stopped_since[job.owner] >= self._timing.stopped_owner_s

    async def _may_take_over(self, kind: JobKind, job: Job) -> bool:
        """Return whether this muxpilot may continue a job. If it must not, it does not ask again."""
        try:
            is_allowed = await kind.may_take_over(self.tmux, job)
        except (Denied, BadInput, NotFound):
            is_allowed = False
        except MuxpilotError as error:
            self._trace.debug("job not taken over now", job=job.id, error=error.code)
            return False
        if not is_allowed:
            self._trace.debug("job left to others", job=job.id, kind=job.kind)
            self._left_to_others.add(job.id)
        return is_allowed


def _do_nothing() -> None:
    """Stop watching a folder that is not watched."""
