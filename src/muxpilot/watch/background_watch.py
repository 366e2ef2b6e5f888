"""A background watch as clients see it, in whichever muxpilot it runs."""

from __future__ import annotations

from contextlib import suppress
from enum import Enum

from muxpilot.jobs.job_records import Fields, Job
from muxpilot.jobs.server_jobs import ServerJobs
from muxpilot.journal.record_numbers import DAMAGES
from muxpilot.records import record
from muxpilot.tmux import PaneId
from muxpilot.watch.result import WatchResult
from muxpilot.watch.watch_job import parse_result


class WatchStatus(Enum):
    """How far a background watch is; the values are words of the answers of tools."""

    WATCHING = "watching"
    DONE = "done"
    CANCELLED = "cancelled"


@record
class BackgroundWatch:
    """A watch that no call waits for. When it is done it has a `result`, or a `failure`."""

    jobs: ServerJobs
    job: Job
    is_asked_here: bool = True  # by a client of this muxpilot

    @property
    def id(self) -> str:
        return self.job.id

    @property
    def pane(self) -> PaneId:
        return PaneId(self.job.pane)

    @property
    def status(self) -> WatchStatus:
        """Return how far the watch is, in whichever muxpilot."""
        if self.job.end is None:
            return WatchStatus.WATCHING
        is_cancelled = self.job.end.result.get("status") == WatchStatus.CANCELLED.value
        return WatchStatus.CANCELLED if is_cancelled else WatchStatus.DONE

    @property
    def result(self) -> WatchResult | None:
        """Return the result; None if there is none yet, or its record is damaged."""
        fields = self._end_fields.get("result")
        with suppress(*DAMAGES):
            return parse_result(fields) if fields is not None else None
        return None

    @property
    def failure(self) -> str | None:
        """Return why the watch has failed, or None."""
        if self._end_fields.get("result") is not None and self.result is None:
            return "The record of its result is damaged."
        failure = self._end_fields.get("failure")
        return None if failure is None else str(failure)

    @property
    def _end_fields(self) -> Fields:
        return self.job.end.result if self.job.end is not None else {}

    async def wait_for_end(self, timeout_s: float | None = None) -> bool:
        """Wait until the watch has ended in whichever muxpilot. Return False after the timeout."""
        return await self.jobs.wait_for_end(self.job, timeout_s)
