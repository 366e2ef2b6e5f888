"""A recording as a job: what is written down about it, and what its end tells."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from muxpilot.jobs.job_records import Fields, Job
from muxpilot.journal.record_numbers import read_seconds, read_whole
from muxpilot.record.cast import CastPlace
from muxpilot.records import record

KIND = "recording"
_LARGEST = 1e15
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
    numbers = (read_whole(fields[name]) for name in ("began", "bytes", "device", "inode"))
    size = read_whole(fields["columns"]), read_whole(fields["rows"])
    return RecordingPlace(str(fields["journal"]), read_whole(fields["offset"]), *size, CastPlace(*numbers))


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
        _read_or_zero(result.get("seconds", 0.0)),
        round(_read_or_zero(result.get("bytes", 0))),
        _read_text(result.get("note")),
        _read_text(result.get("failure")),
    )


def _read_or_zero(value: object) -> float:
    """Return a number of a record; 0 for one that is damaged."""
    with suppress(ValueError, OverflowError):
        return read_seconds(value, most=_LARGEST)
    return 0.0


def _read_text(value: object) -> str | None:
    return None if value is None else str(value)
