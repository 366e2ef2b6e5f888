"""What the records of a tmux server say about its jobs. No I/O happens here.

A job is a background watch or a recording. Every muxpilot of the user reads the same records
(`journal/record_log.py`), in the same order, and comes to the same history:

    job       before the client gets an answer: the kind of job, its pane, and all that is needed to continue
    own       before another muxpilot continues the job: the owner is dead or stopped; the last one wins
    progress  how far the job is; the last one wins
    stop      a client has asked for the end of a job: its owner ends it, if it has not ended by itself
    end       before any client is told the end, with the result; the first one wins

A record that says nothing new is ignored: the same record may be written twice. Unknown kinds of records and
damaged fields are ignored too: a later version may have written them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, ClassVar

from muxpilot.journal.record_history import RecordActions, apply_record, choose_forgotten
from muxpilot.journal.record_numbers import read_whole
from muxpilot.records import mutable_object, record
from muxpilot.trace import Trace, area

Fields = Mapping[str, Any]


@record
class JobEnd:
    """The result of a job, the token of the muxpilot that wrote it, and when, by the clock since boot."""

    result: Fields
    by: str
    ended_ns: int


@mutable_object
class Job:
    """A job as the records tell it."""

    id: str
    kind: str
    pane: str
    owner: str
    asked_ns: int
    work: Fields  # what its kind needs to continue it
    progress: Fields = field(default_factory=dict)
    is_stop_asked: bool = False
    end: JobEnd | None = None

    @property
    def has_ended(self) -> bool:
        return self.end is not None


class JobHistory:
    """The jobs of one tmux server, from its records."""

    def __init__(self, trace: Trace | None = None) -> None:
        self.jobs: dict[str, Job] = {}
        self._trace = trace or area("jobs")

    def apply(self, fields: Fields) -> Job | None:
        """Take a record. Return the job that it changed, or None if it said nothing new."""
        return apply_record(self, self._ACTIONS, fields, trace=self._trace)

    @property
    def unfinished_jobs(self) -> Iterator[Job]:
        """Yield the jobs that have not ended, in the order of asking."""
        return (job for job in self.jobs.values() if job.end is None)

    def forget_old(self, *, most: int, before_ns: int) -> None:
        """Forget ended jobs that are too many, or ended before a time."""
        ended = [(job.id, job.end.ended_ns) for job in self.jobs.values() if job.end is not None]
        for job_id in choose_forgotten(ended, most=most, before_ns=before_ns):
            del self.jobs[job_id]

    def records(self) -> Iterator[Fields]:
        """Yield the records from which this history can be built again."""
        for job in self.jobs.values():
            yield job_record(job)
            if job.progress:
                yield progress_record(job.id, job.progress)
            if job.is_stop_asked:
                yield stop_record(job.id)
            if job.end is not None:
                yield end_record(job.id, job.end)

    def _on_job(self, fields: Fields) -> Job | None:
        if fields["id"] in self.jobs:
            return None
        job = Job(
            id=str(fields["id"]),
            kind=str(fields["kind"]),
            pane=str(fields["pane"]),
            owner=str(fields["owner"]),
            asked_ns=read_whole(fields["asked"]),
            work=dict(fields["work"]),
        )
        self.jobs[job.id] = job
        return job

    def _on_own(self, fields: Fields) -> Job | None:
        job = self._find_unfinished(fields)
        if job is None or job.owner == fields["owner"]:
            return None
        job.owner = str(fields["owner"])
        return job

    def _on_progress(self, fields: Fields) -> Job | None:
        job = self._find_unfinished(fields)
        if job is None or job.progress == fields["progress"]:
            return None
        job.progress = dict(fields["progress"])
        return job

    def _on_stop(self, fields: Fields) -> Job | None:
        job = self.jobs.get(fields["id"])
        if job is None or job.is_stop_asked:
            return None
        job.is_stop_asked = True
        return job

    def _on_end(self, fields: Fields) -> Job | None:
        job = self._find_unfinished(fields)
        if job is None:
            return None
        job.end = JobEnd(dict(fields["result"]), str(fields["by"]), read_whole(fields["ended"]))
        return job

    def _find_unfinished(self, fields: Fields) -> Job | None:
        job = self.jobs.get(fields["id"])
        return job if job is not None and job.end is None else None

    _ACTIONS: ClassVar[RecordActions[JobHistory, Job]] = {
        "job": _on_job,
        "own": _on_own,
        "progress": _on_progress,
        "stop": _on_stop,
        "end": _on_end,
    }


def job_record(job: Job) -> Fields:
    """Return the record of a new job."""
    return {
        "t": "job",
        "id": job.id,
        "kind": job.kind,
        "pane": job.pane,
        "owner": job.owner,
        "asked": job.asked_ns,
        "work": dict(job.work),
    }


def own_record(job_id: str, owner: str) -> Fields:
    return {"t": "own", "id": job_id, "owner": owner}


def progress_record(job_id: str, progress: Fields) -> Fields:
    return {"t": "progress", "id": job_id, "progress": dict(progress)}


def stop_record(job_id: str) -> Fields:
    return {"t": "stop", "id": job_id}


def end_record(job_id: str, end: JobEnd) -> Fields:
    return {"t": "end", "id": job_id, "result": dict(end.result), "by": end.by, "ended": end.ended_ns}
