"""Running recordings: each follows the stream of a pane until it is stopped or the pane ends."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from pathlib import Path

from muxpilot.errors import BadInput, MuxpilotError, Refused
from muxpilot.record.cast import CastFile, CreateFile, paint_screen
from muxpilot.shells.osc133 import MarkStripper
from muxpilot.tmux import Data, End, Gap, PaneId, PaneStream, Tmux
from muxpilot.tmux.objects.capture import CapturedScreen
from muxpilot.trace import area

LARGEST_BYTES = 256 << 20
_SIZE_CHECK_S = 0.1
_STOP_TIMEOUT_S = 5.0
_TRIES = 5


class Recording:
    """One pane that is recorded into one file; the file has its stream up to `offset`."""

    def __init__(self, tmux: Tmux, pane: PaneId, path: Path, create: CreateFile, *, largest: int) -> None:
        self._tmux = tmux
        self._pane = pane
        self._path = path
        self._create = create
        self._largest = largest
        self._stop_at = math.inf
        self._size = (0, 0)
        self._size_checked_at = 0.0
        self._marks = MarkStripper()
        self._trace = area("record").child(pane=pane)
        self.offset = 0
        self.file: CastFile | None = None
        self.has_started = asyncio.Event()
        self.task = asyncio.create_task(self._run())

    async def stop(self) -> BaseException | None:
        """Stop when the output up to now is written, at the latest after some seconds.

        Return the exception that had ended the recording before, or None.
        """
        stream = self._tmux.streams.find_stream(self._pane)
        if stream is not None and not self.task.done():
            with contextlib.suppress(MuxpilotError):
                await self._tmux.streams.catch_up(self._pane)
            self._stop_at = stream.end
            if self.offset < self._stop_at:
                await asyncio.wait([self.task], timeout=_STOP_TIMEOUT_S)
        return await self.cancel()

    async def cancel(self) -> BaseException | None:
        """Stop at once. Return the exception that had ended the recording before, or None."""
        self.task.cancel()
        await asyncio.wait([self.task])
        return None if self.task.cancelled() else self.task.exception()

    async def _run(self) -> None:
        reason = "cancelled"
        try:
            reason = await self._record()
        except OSError as error:
            reason = f"cannot write: {error.strerror}"
            raise Refused(f"The recording {str(self._path)!r} cannot be written: {error.strerror}.") from None
        finally:
            size = self.file.bytes if self.file is not None else 0
            self._trace.info("recording ended", reason=reason, bytes=size, offset=self.offset)

    async def _record(self) -> str:
        """Write the stream to the file; return why the recording has ended."""
        async with self._tmux.streams.open(self._pane) as stream:
            self.offset, shown = await _capture_start(self._tmux, stream)
            self._size = (shown.columns, shown.rows)
            with contextlib.closing(CastFile(self._path, *self._size, self._create)) as file:
                file.write_event("o", paint_screen(shown.lines, shown.cursor))
                self._size_checked_at = time.monotonic()
                self.file = file
                self.has_started.set()
                self._trace.info("recording started", columns=shown.columns, rows=shown.rows)
                async for event in stream.follow(self.offset):
                    if isinstance(event, End):
                        return "stream ended"
                    await self._write(file, event)
                    if file.bytes > self._largest:
                        return "file is full"
                    if self.offset >= self._stop_at:
                        return "stopped"
        return "stream ended"

    async def _write(self, file: CastFile, event: Data | Gap) -> None:
        if isinstance(event, Gap):
            self._marks.flush()  # the rest of a torn mark is in the gap
            self._trace.debug("gap", lost=event.lost_bytes, reason=event.reason)
            file.write_event("m", f"{event.lost_bytes or 'some'} bytes are missing: {event.reason}")
            return
        if time.monotonic() - self._size_checked_at > _SIZE_CHECK_S:
            self._size_checked_at = time.monotonic()
            self._size = await _record_resize(self._tmux, self._pane, file, self._size)
        file.write_output(self._marks.strip(event.data))
        self.offset = event.offset + len(event.data)


class Recordings:
    """All recordings that run, at most one for each pane."""

    def __init__(self, *, largest_bytes: int = LARGEST_BYTES) -> None:
        self._largest = largest_bytes
        self._running: dict[tuple[str, PaneId], Recording] = {}

    async def start(self, tmux: Tmux, pane: PaneId, path: Path, create: CreateFile) -> CastFile:
        """Record from now on; the first event paints what the pane shows already."""
        key = (tmux.socket, pane)
        known = self._running.get(key)
        if known is not None and not known.task.done():
            raise BadInput(f"Pane {pane!r} is already being recorded.", "Stop that recording first.")
        self._running[key] = recording = Recording(tmux, pane, path, create, largest=self._largest)
        started = asyncio.create_task(recording.has_started.wait())
        try:
            await asyncio.wait([started, recording.task], return_when=asyncio.FIRST_COMPLETED)
            if recording.file is None and not recording.task.cancelled():
                await recording.task  # raises the reason
            return _started_file(recording)
        except BaseException:
            if self._running.get(key) is recording:  # else it was stopped before it had started
                del self._running[key]
            await recording.cancel()
            raise
        finally:
            started.cancel()

    async def stop(self, tmux: Tmux, pane: PaneId) -> CastFile:
        """Stop the recording of a pane. Raise what ended it before, if that was a failure."""
        recording = self._running.pop((tmux.socket, pane), None)
        if recording is None:
            await tmux.panes.get(pane)  # raises NotFound if there is no such pane
            raise BadInput(f"Pane {pane!r} is not being recorded.", "Start it with action 'start'.")
        failure = await recording.stop()
        if failure is not None:
            raise failure
        return _started_file(recording)

    async def close(self) -> None:
        running, self._running = self._running, {}
        await asyncio.gather(*(recording.cancel() for recording in running.values()))


def _started_file(recording: Recording) -> CastFile:
    if recording.file is None:
        raise BadInput("The recording has not started yet.", "Start it again.")
    return recording.file


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
