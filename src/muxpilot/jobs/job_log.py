"""The jobs of one tmux server: written by the muxpilot that acts, read by all of them.

Where records cannot be kept (the setting `tracking.journal` is off, the disk is full, the folder is gone) the
log works in memory: jobs run as before, but no other muxpilot knows them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from muxpilot.errors import MuxpilotError
from muxpilot.jobs import job_records as records
from muxpilot.jobs.job_records import Fields, Job, JobEnd, JobHistory
from muxpilot.journal.folders import JOBS_FILE
from muxpilot.journal.owners import Owners, OwnerState
from muxpilot.journal.record_log import RecordLog
from muxpilot.trace import Trace

_IN_MEMORY = "memory"
# Larger than all results that are kept, so that a file is never put aside for records that must stay.
_MOST_BYTES = 16 << 20


class JobLog:
    """The history of one server's jobs, and how to add to it. Without a `folder` nothing is kept on disk."""

    def __init__(
        self, folder: Path | None, owners: Owners | None, trace: Trace, *, most: int, kept_s: float
    ) -> None:
        self.history = JobHistory(trace)
        self._owners = owners if folder is not None else None
        folder = folder if owners is not None else None
        self._trace = trace
        self._most = most
        self._kept_s = kept_s
        self._has_failed = False
        self._log: RecordLog | None = None
        if folder is not None:
            self._log = RecordLog(folder / JOBS_FILE, most_bytes=_MOST_BYTES, trace=trace)

    @property
    def own_token(self) -> str:
        """Return the token of this process. Where it can have none, nothing is written from now on."""
        try:
            return self._owners.own_token if self._owners is not None else _IN_MEMORY
        except (OSError, MuxpilotError) as error:
            self._note_failure(error)
            self._log, self._owners = None, None
            return _IN_MEMORY

    def is_own(self, job: Job) -> bool:
        """Return whether this muxpilot is responsible for a job."""
        return job.owner == _IN_MEMORY if self._owners is None else self._owners.is_own(job.owner)

    def owner_state(self, job: Job) -> OwnerState:
        """Return what the muxpilot does that is responsible for a job."""
        return OwnerState.ALIVE if self._owners is None else self._owners.state(job.owner)

    def sync(self) -> list[Job]:
        """Take the records that were added since the last call. Return the jobs that they changed."""
        if self._log is None:
            return []
        try:
            new = self._log.read_new()
        except OSError as error:
            self._note_failure(error)
            return []
        return self._take(new)

    def _take(self, new: Sequence[Fields]) -> list[Job]:
        """Take records into the history. Return the jobs that they changed."""
        changed = [self.history.apply(fields) for fields in new]
        self._forget_old()
        return list({job.id: job for job in changed if job is not None}.values())

    def add(self, job: Job) -> list[Job]:
        """Write down a new job, which is in the history afterwards in any case."""
        fields = records.job_record(job)
        changed = self._append(fields)
        if job.id not in self.history.jobs:
            self.history.apply(fields)
        return changed

    def take_over(self, job: Job) -> list[Job]:
        """Make this muxpilot responsible for a job, unless another one writes the same a moment later."""
        self._trace.debug("job taken over", job=job.id, pane=job.pane, owner=job.owner)
        return self._append(records.own_record(job.id, self.own_token))

    def note_progress(self, job: Job, progress: Fields) -> list[Job]:
        return self._append(records.progress_record(job.id, progress))

    def ask_to_stop(self, job: Job) -> list[Job]:
        return self._append(records.stop_record(job.id))

    def end(self, job: Job, result: Fields) -> list[Job]:
        """Write down the end of a job. The first end that is written counts."""
        end = JobEnd(result, self.own_token, time.monotonic_ns())
        return self._append(records.end_record(job.id, end))

    def close(self) -> None:
        if self._log is not None:
            self._log.close()

    def _append(self, fields: Fields) -> list[Job]:
        """Write a record, then take it into the history with all that were written before it."""
        if self._log is not None:
            try:
                is_next = self._log.append(fields)
                changed = self._take([fields]) if is_next else self.sync()
                self._rotate(self._log)
            except OSError as error:
                self._note_failure(error)
            else:
                self._has_failed = False
                return changed
        return self._take([fields])

    def _forget_old(self) -> None:
        self.history.forget_old(most=self._most, before_ns=time.monotonic_ns() - int(self._kept_s * 1e9))

    def _rotate(self, log: RecordLog) -> None:
        """Begin a new file when this one is large, and write what is kept into it once more."""
        if log.is_large and log.put_aside():
            self.sync()
            for fields in self.history.records():
                log.append(fields)

    def _note_failure(self, error: OSError | MuxpilotError) -> None:
        if not self._has_failed:
            self._trace.warning("jobs cannot be recorded", error=error)
        self._has_failed = True
