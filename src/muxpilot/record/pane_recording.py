"""One recording: writes the stream of a pane to a file until it is stopped or the pane's program ends."""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from muxpilot.errors import MuxpilotError, Refused
from muxpilot.jobs.job_records import Job
from muxpilot.jobs.kept_output import open_kept_output
from muxpilot.jobs.server_jobs import ServerJobs
from muxpilot.record.cast import CastFile, CreateFile, paint_screen
from muxpilot.record.recording_job import (
    KIND,
    WENT_ON,
    RecordingPlace,
    RecordingReport,
    describe_place,
    describe_report,
    parse_place,
    path_of,
)
from muxpilot.shells.osc133 import MarkStripper
from muxpilot.timing import JobTiming
from muxpilot.tmux import Data, End, Gap, PaneId, PaneStream, Tmux
from muxpilot.tmux.objects.capture import CapturedScreen
from muxpilot.trace import area, describe_error

_TRIES = 5
_CONTINUED = "another muxpilot continues the recording"
_NOT_KEPT = "the muxpilot that recorded has ended, and what the pane printed since is not kept"


class Recording:
    """One pane that this muxpilot records into one file; the file has its stream up to `offset`.

    When the task is cancelled, the recording is left for another muxpilot to continue. It ends with `stop`,
    or with its stream.
    """

    def __init__(self, jobs: ServerJobs, pane: PaneId, *, largest: int, timing: JobTiming) -> None:
        self._jobs = jobs
        self._tmux = jobs.tmux
        self._pane = pane
        self._largest = largest
        self._timing = timing
        self._stop_at = math.inf
        self._stream: PaneStream | None = None
        self._size = (0, 0)
        self._size_checked_at = 0.0
        self._marks = MarkStripper()
        self._torn_mark = b""
        self._note: str | None = None
        self._progress_timer: asyncio.TimerHandle | None = None
        self._progress_at = 0.0
        self._trace = area("record").child(pane=pane)
        self.offset = 0
        self.job: Job | None = None
        self.file: CastFile | None = None
        self.has_started = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.is_stopping = False

    def start_new(self, path: Path, create: CreateFile) -> None:
        self.task = asyncio.create_task(self._run(self._record_new(path, create), path))

    def start_taken_over(self, job: Job) -> None:
        self.job = job
        self.task = asyncio.create_task(self._run(self._continue(job), path_of(job)))

    async def stop(self) -> None:
        """Stop when the output up to now is written, at the latest after some seconds."""
        self.is_stopping = True
        assert self.task is not None
        await self._wait_for_start(self.task)
        if self._stream is not None and not self.task.done():
            with contextlib.suppress(MuxpilotError):
                await self._tmux.streams.catch_up(self._pane)
            self._stop_at = self._stream.end
            if self.offset < self._stop_at:
                await asyncio.wait([self.task], timeout=self._timing.recording_stop_s)
        await self.leave()
        self._end("stopped")

    async def _wait_for_start(self, task: asyncio.Task[None]) -> None:
        """Wait until the file is open, or the recording has ended, at the latest after some seconds."""
        started = asyncio.create_task(self.has_started.wait())
        await asyncio.wait(
            [started, task], timeout=self._timing.recording_stop_s, return_when=asyncio.FIRST_COMPLETED
        )
        started.cancel()

    async def leave(self) -> None:
        """Stop at once, and leave the recording for another muxpilot to continue."""
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait([self.task])

    async def _run(self, work: Coroutine[Any, Any, str], path: Path) -> None:
        reason, failure = "left to other muxpilots", None
        try:
            reason = await work
        except asyncio.CancelledError:
            self._write_progress()
            raise
        except Exception as error:
            failure = _describe_failure(error, path)
            reason = f"failed: {describe_error(error)}"
            if self.job is None and isinstance(error, OSError):
                raise Refused(failure) from None
            if self.job is None:  # it has not started, and its caller waits
                raise
        finally:
            if self._progress_timer is not None:
                self._progress_timer.cancel()
            size = self.file.bytes if self.file is not None else 0
            self._trace.info("recording ends here", reason=reason, bytes=size, offset=self.offset)
        self._end(reason, failure)

    def _end(self, reason: str, failure: str | None = None) -> None:
        """Write down the end of the recording, unless that was done before."""
        if self.job is None or self.job.end is not None or not self._jobs.is_own(self.job):
            return
        seconds, size = (self.file.seconds, self.file.bytes) if self.file is not None else (0.0, 0)
        report = RecordingReport(path_of(self.job), round(seconds, 3), size, self._note, failure)
        self._jobs.end(self.job, {**describe_report(report), "reason": reason})

    async def _record_new(self, path: Path, create: CreateFile) -> str:
        """Write the stream to a new file; return why the recording has ended."""
        async with self._tmux.streams.open(self._pane) as stream:
            self.offset, shown = await _capture_start(self._tmux, stream)
            self._size = (shown.columns, shown.rows)
            with contextlib.closing(CastFile.create(path, *self._size, create)) as file:
                file.write_event("o", paint_screen(shown.lines, shown.cursor))
                self._stream, self.file = stream, file
                self._add_job(path)
                self.has_started.set()
                self._trace.info("recording started", columns=shown.columns, rows=shown.rows)
                return await self._follow(stream, file)

    def _add_job(self, path: Path) -> None:
        place = describe_place(self._place())
        job_id, owner = f"r{secrets.token_hex(4)}", self._jobs.own_token
        work = {"path": str(path), "place": place}
        self.job = self._jobs.add(Job(job_id, KIND, self._pane, owner, time.monotonic_ns(), work))

    async def _continue(self, job: Job) -> str:
        """Continue in the file of another muxpilot, or close it if its pane's output is not kept."""
        place = parse_place(job)
        with contextlib.closing(await self._reopen(path_of(job), job)) as file:
            self.file, self.offset, self._size = file, place.offset, (place.columns, place.rows)
            async with open_kept_output(self._tmux, self._pane, place.journal) as output:
                if output.kept is None:
                    self._note = f"The recording was closed: {_NOT_KEPT}."
                    file.write_event("m", f"the recording was closed: {_NOT_KEPT}")
                    return "not kept"
                self._note = WENT_ON
                file.write_event("m", _CONTINUED)
                self._stream = output.kept
                self.has_started.set()
                self._trace.info("recording continued", offset=self.offset, bytes=file.bytes)
                return await self._follow(output.kept, file)

    async def _reopen(self, path: Path, job: Job) -> CastFile:
        """Open the file when no other process writes to it. This muxpilot is left out if it loses the job."""
        while True:
            file = CastFile.reopen(path, parse_place(job).file)
            if file is not None:
                return file
            self._trace.debug("recording is written by another process", path=path)
            await asyncio.sleep(self._timing.recording_reopen_s)

    async def _follow(self, stream: PaneStream, file: CastFile) -> str:
        """Write the stream to the file; return why the recording has ended."""
        self._size_checked_at = time.monotonic()
        async for event in stream.follow(self.offset):
            if isinstance(event, End):
                return "stream ended"
            await self._write(file, event, stream)
            if file.bytes > self._largest:
                return "file is full"
            if self.offset >= self._stop_at:
                return "stopped"
        return "stream ended"

    async def _write(self, file: CastFile, event: Data | Gap, stream: PaneStream) -> None:
        if isinstance(event, Gap):
            self._torn_mark = b""  # the rest of a torn mark is in the gap
            self._trace.debug("gap", lost=event.lost_bytes, reason=event.reason)
            file.write_event("m", f"{event.lost_bytes or 'some'} bytes are missing: {event.reason}")
            return
        is_live = stream.end_event is None
        if is_live and time.monotonic() - self._size_checked_at > self._timing.recorded_size_check_s:
            self._size_checked_at = time.monotonic()
            self._size = await _record_resize(self._tmux, self._pane, file, self._size)
        file.write_output(self._strip_marks(event.data))
        self.offset = event.offset + len(event.data)
        self._note_progress()

    def _strip_marks(self, data: bytes) -> bytes:
        """Return the data without marks. A torn mark at its end waits for its rest."""
        text = self._marks.strip(self._torn_mark + data)
        self._torn_mark = self._marks.flush()
        return text

    def _place(self) -> RecordingPlace:
        """Return how far the recording is. What waits for its rest is read again by the next muxpilot."""
        assert self.file is not None
        assert self._stream is not None
        offset = self.offset - len(self._torn_mark) - self.file.held_bytes
        return RecordingPlace(self._stream.name, offset, *self._size, self.file.place)

    def _note_progress(self) -> None:
        """Write down how far the recording is, now or in a moment: at most so often."""
        if self._progress_timer is None:
            loop = asyncio.get_running_loop()
            pause_s = max(0.0, self._progress_at + self._timing.recording_progress_s - loop.time())
            self._progress_timer = loop.call_later(pause_s, self._write_progress)

    def _write_progress(self) -> None:
        self._progress_timer = None
        if self.job is None or self.file is None or self._stream is None or self.job.end is not None:
            return
        if self._jobs.is_own(self.job):
            self._progress_at = asyncio.get_running_loop().time()
            self._jobs.note_progress(self.job, describe_place(self._place()))


def _describe_failure(error: Exception, path: Path) -> str:
    if isinstance(error, OSError):
        return f"The recording {str(path)!r} cannot be written: {error.strerror}."
    words = str(error) if isinstance(error, MuxpilotError) else "a bug in muxpilot, or a damaged record"
    return f"The recording {str(path)!r} has failed: {words}"


async def _capture_start(tmux: Tmux, stream: PaneStream) -> tuple[int, CapturedScreen]:
    """Return the screen and its position in the stream, if possible from a moment without new output."""
    for _ in range(_TRIES):
        offset = stream.end
        shown = await tmux.capture.screen(stream.pane)
        await tmux.streams.catch_up(stream.pane)
        if stream.end == offset:
            break
    return offset, shown


async def _record_resize(
    tmux: Tmux, pane: PaneId, file: CastFile, before: tuple[int, int]
) -> tuple[int, int]:
    try:
        row = await tmux.panes.get(pane)
    except MuxpilotError:
        return before  # the pane is just ending
    if (row.width, row.height) != before:
        file.write_event("r", f"{row.width}x{row.height}")
    return row.width, row.height
