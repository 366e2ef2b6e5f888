"""A recording as a job: what is written down about it, and what its end tells."""

from __future__ import annotations

from pathlib import Path

from muxpilot.jobs.job_records import Fields, Job
from muxpilot.record.cast import CastPlace
from muxpilot.records import record

KIND = "recording"
WENT_ON = "Another muxpilot had begun the recording; it went on."


@record
class RecordingPlace:
    """How far a recording is: in the output of its pane, and in its file."""

    journal: str
    offset: int
    columns: int
    rows: int
    file: CastPlace


@record
class RecordingReport:
    """A recording for its client. `note` says whether it went on in another muxpilot or was closed."""

    path: Path
    seconds: float
    bytes: int
    note: str | None = None
    failure: str | None = None


def describe_place(place: RecordingPlace) -> Fields:
    """Return a place as data for a record."""
    return {
        "journal": place.journal,
        "offset": place.offset,
        "columns": place.columns,
        "rows": place.rows,
        "began": place.file.began_ns,
        "bytes": place.file.bytes,
        "device": place.file.device,
        "inode": place.file.inode,
    }


def parse_place(job: Job) -> RecordingPlace:
    """Return how far a recording was, or raise KeyError, TypeError or ValueError if its record is damaged."""
    fields = {**job.work["place"], **job.progress}
    numbers = (int(fields[name]) for name in ("began", "bytes", "device", "inode"))
    size = int(fields["columns"]), int(fields["rows"])
    return RecordingPlace(str(fields["journal"]), int(fields["offset"]), *size, CastPlace(*numbers))


def path_of(job: Job) -> Path:
    return Path(str(job.work["path"]))


def describe_report(report: RecordingReport) -> Fields:
    """Return a report as data for a record."""
    return {
        "seconds": report.seconds,
        "bytes": report.bytes,
        "note": report.note,
        "failure": report.failure,
    }


def parse_report(job: Job) -> RecordingReport:
    """Return what the end of a recording tells."""
    result = job.end.result if job.end is not None else {}
    return RecordingReport(
        path_of(job),
        float(result.get("seconds", 0.0)),
        int(result.get("bytes", 0)),
        result.get("note"),
        result.get("failure"),
    )
