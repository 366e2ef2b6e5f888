"""All recordings: those that this muxpilot writes, and those of other muxpilots, which it can stop.

A recording is a job (`jobs/`). If its muxpilot has gone, another one goes on in the same file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from muxpilot.errors import BadInput, Refused
from muxpilot.jobs.job_records import Job
from muxpilot.jobs.job_registry import JobRegistry
from muxpilot.jobs.server_jobs import ServerJobs
from muxpilot.journal.owners import OwnerState
from muxpilot.record.cast import CreateFile
from muxpilot.record.pane_recording import Recording
from muxpilot.record.recording_job import KIND, RecordingReport, parse_report, path_of
from muxpilot.tasks import TaskSet
from muxpilot.tmux import PaneId, Tmux
from muxpilot.trace import area

LARGEST_BYTES = 256 << 20

# Returns whether the policy allows to record a pane into a file.
MayRecord = Callable[[Tmux, PaneId, Path], Awaitable[bool]]


class Recordings:
    """All recordings, at most one for each pane. `may_record` is for those that other muxpilots began."""

    # A stopped owner holds the lock of the file, and goes on from the pane's journal when it continues.
    leaves_stopped_owners = True

    def __init__(self, jobs: JobRegistry | None = None, *, largest_bytes: int = LARGEST_BYTES) -> None:
        self.may_record: MayRecord | None = None
        self._jobs = jobs or JobRegistry()
        self._jobs.kinds[KIND] = self
        self._largest = largest_bytes
        self._starting: dict[tuple[str, PaneId], asyncio.Task[RecordingReport]] = {}
        self._running: dict[str, Recording] = {}
        self._tasks = TaskSet(area("record"))

    async def start(self, tmux: Tmux, pane: PaneId, path: Path, create: CreateFile) -> RecordingReport:
        """Record from now on; the first event paints what the pane shows already."""
        key = (tmux.socket, pane)
        if key in self._starting:
            raise _already_recorded(pane)
        starting = asyncio.create_task(self._start(tmux, pane, path, create))
        self._starting[key] = starting
        try:
            await asyncio.wait([starting])
        except asyncio.CancelledError:
            starting.cancel()
            raise
        finally:
            self._starting.pop(key, None)
        if starting.cancelled():
            raise _not_started()
        return starting.result()

    async def _start(self, tmux: Tmux, pane: PaneId, path: Path, create: CreateFile) -> RecordingReport:
        jobs = await self._jobs.of(tmux)
        if any(job.end is None for job in jobs.of_pane(KIND, pane)):
            raise _already_recorded(pane)
        recording = Recording(jobs, pane, largest=self._largest, timing=self._jobs.timing)
        recording.start_new(path, create)
        assert recording.task is not None
        started = asyncio.create_task(recording.has_started.wait())
        try:
            await asyncio.wait([started, recording.task], return_when=asyncio.FIRST_COMPLETED)
            if recording.file is None or recording.job is None:
                await recording.task  # raises the reason
                raise _not_started()
            self._keep(recording.job, recording)
            return RecordingReport(path, round(recording.file.seconds, 3), recording.file.bytes)
        except BaseException:
            await recording.leave()
            raise
        finally:
            started.cancel()

    async def stop(self, tmux: Tmux, pane: PaneId) -> RecordingReport:
        """Stop the recording of a pane, whichever muxpilot writes it. Raise what ended it, if that failed."""
        starting = self._starting.get((tmux.socket, pane))
        if starting is not None:
            starting.cancel()
            raise _not_started()
        jobs = await self._jobs.of(tmux)
        job = next(reversed(jobs.of_pane(KIND, pane)), None)
        if job is None or (job.end is not None and job.is_stop_asked):
            await tmux.panes.get(pane)  # raises NotFound if there is no such pane
            raise BadInput(f"Pane {pane!r} is not being recorded.", "Start it with action 'start'.")
        await jobs.take_over_now(job)
        if job.end is None and jobs.owner_state(job) is OwnerState.STOPPED:
            raise _not_answering(job)
        jobs.ask_to_stop(job)
        if not await jobs.wait_for_end(job, self._jobs.timing.stop_by_owner_s):
            raise _not_answering(job)
        report = parse_report(job)
        if report.failure is not None:
            raise Refused(report.failure)
        return report

    async def close(self) -> None:
        """Stop writing. The recordings are left for other muxpilots to continue."""
        running, self._running = self._running, {}
        await asyncio.gather(*(recording.leave() for recording in running.values()))
        await self._tasks.close()

    # What the jobs call

    async def may_take_over(self, tmux: Tmux, job: Job) -> bool:
        """Return whether this muxpilot may write to the file of a recording."""
        return self.may_record is not None and await self.may_record(tmux, PaneId(job.pane), path_of(job))

    def take_over(self, jobs: ServerJobs, job: Job) -> None:
        """Continue a recording of a muxpilot that has gone."""
        recording = Recording(jobs, PaneId(job.pane), largest=self._largest, timing=self._jobs.timing)
        recording.start_taken_over(job)
        self._keep(job, recording)
        self.on_change(jobs, job)  # its stop may have been asked for before

    def on_change(self, jobs: ServerJobs, job: Job) -> None:
        """Leave a recording that another muxpilot has taken over, and stop one if a client asks for it."""
        recording = self._running.get(job.id)
        if recording is None or recording.task is None:
            return
        if job.end is None and not jobs.is_own(job):
            recording.task.cancel()
        elif job.end is None and job.is_stop_asked and not recording.is_stopping:
            recording.is_stopping = True
            self._tasks.start(recording.stop(), name=f"stop recording {job.id}")

    def _keep(self, job: Job, recording: Recording) -> None:
        """Keep a recording until its task has ended."""
        assert recording.task is not None
        self._running[job.id] = recording
        recording.task.add_done_callback(lambda _: self._running.pop(job.id, None))


def _already_recorded(pane: PaneId) -> BadInput:
    return BadInput(f"Pane {pane!r} is already being recorded.", "Stop that recording first.")


def _not_answering(job: Job) -> Refused:
    return Refused(
        f"The muxpilot that records pane {job.pane!r} is stopped or busy; its file is {path_of(job)}.",
        "Continue that process, or end it, and try again.",
    )


def _not_started() -> BadInput:
    return BadInput("The recording has not started yet.", "Start it again.")
