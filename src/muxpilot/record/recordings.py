"""The recordings that run: each follows a pane's stream until it is stopped, or the pane ends."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from pathlib import Path

from muxpilot.errors import BadInput, MuxpilotError, Refused
from muxpilot.record.cast import CastFile, Create, first_look
from muxpilot.shells.osc133 import Stripper
from muxpilot.tmux import Data, End, Gap, PaneId, PaneStream, Tmux
from muxpilot.tmux.objects.capture import Shown

LARGEST_BYTES = 256 << 20
_LOOK_AGAIN_S = 0.1
_REST_S = 5.0
_TRIES = 5


class Recording:
    """One pane, one file; `at` is how much of the pane's stream is in it."""

    def __init__(self, tmux: Tmux, pane: PaneId, path: Path, create: Create, *, largest: int) -> None:
        self._tmux = tmux
        self._pane = pane
        self._path = path
        self._create = create
        self._largest = largest
        self._stop_at = math.inf
        self._size = (0, 0)
        self._looked = 0.0
        self._marks = Stripper()
        self.at = 0
        self.file: CastFile | None = None
        self.begun = asyncio.Event()
        self.task = asyncio.create_task(self._run())

    async def stop(self) -> BaseException | None:
        """What the pane has printed so far is written first, if it takes no long time."""
        stream = self._tmux.streams.of(self._pane)
        if stream is not None and not self.task.done():
            with contextlib.suppress(MuxpilotError):
                await self._tmux.streams.catch_up(self._pane)
            self._stop_at = stream.end
            if self.at < self._stop_at:
                await asyncio.wait([self.task], timeout=_REST_S)
        return await self.end()

    async def end(self) -> BaseException | None:
        """What had ended it before, if that was a failure."""
        self.task.cancel()
        await asyncio.wait([self.task])
        return None if self.task.cancelled() else self.task.exception()

    async def _run(self) -> None:
        try:
            await self._record()
        except OSError as error:
            raise Refused(f"The recording {str(self._path)!r} cannot be written: {error.strerror}.") from None

    async def _record(self) -> None:
        async with self._tmux.streams.open(self._pane) as stream:
            self.at, shown = await _begun(self._tmux, stream)
            self._size = (shown.columns, shown.rows)
            with contextlib.closing(CastFile(self._path, *self._size, self._create)) as file:
                file.event("o", first_look(shown.lines, shown.cursor))
                self._looked = time.monotonic()
                self.file = file
                self.begun.set()
                async for event in stream.follow(self.at):
                    if isinstance(event, End):
                        return
                    await self._write(file, event)
                    if file.bytes > self._largest or self.at >= self._stop_at:
                        return

    async def _write(self, file: CastFile, event: Data | Gap) -> None:
        if isinstance(event, Gap):
            self._marks.rest()  # what it belonged to is among what is missing
            file.event("m", f"{event.lost or 'some'} bytes are missing: {event.reason}")
            return
        if time.monotonic() - self._looked > _LOOK_AGAIN_S:
            self._looked = time.monotonic()
            self._size = await _resized(self._tmux, self._pane, file, self._size)
        file.output(self._marks.strip(event.data))
        self.at = event.offset + len(event.data)


class Recordings:
    def __init__(self, *, largest_bytes: int = LARGEST_BYTES) -> None:
        self._largest = largest_bytes
        self._running: dict[tuple[str, PaneId], Recording] = {}

    async def start(self, tmux: Tmux, pane: PaneId, path: Path, create: Create) -> CastFile:
        """From now on; what the pane shows already is painted first."""
        key = (tmux.socket, pane)
        known = self._running.get(key)
        if known is not None and not known.task.done():
            raise BadInput(f"Pane {pane!r} is recorded already.", "Stop that recording first.")
        self._running[key] = recording = Recording(tmux, pane, path, create, largest=self._largest)
        begun = asyncio.create_task(recording.begun.wait())
        try:
            await asyncio.wait([begun, recording.task], return_when=asyncio.FIRST_COMPLETED)
            if recording.file is None and not recording.task.cancelled():
                await recording.task  # raises why
            return _file(recording)
        except BaseException:
            if self._running.get(key) is recording:  # else it was stopped before it had begun
                del self._running[key]
            await recording.end()
            raise
        finally:
            begun.cancel()

    async def stop(self, tmux: Tmux, pane: PaneId) -> CastFile:
        recording = self._running.pop((tmux.socket, pane), None)
        if recording is None:
            await tmux.panes.get(pane)  # one that is not there is said to be so
            raise BadInput(f"Pane {pane!r} is not being recorded.", "Start it with action 'start'.")
        failure = await recording.stop()
        if failure is not None:
            raise failure
        return _file(recording)

    async def close(self) -> None:
        running, self._running = self._running, {}
        await asyncio.gather(*(recording.end() for recording in running.values()))


def _file(recording: Recording) -> CastFile:
    if recording.file is None:
        raise BadInput("The recording had not begun yet.", "Start it again.")
    return recording.file


async def _begun(tmux: Tmux, stream: PaneStream) -> tuple[int, Shown]:
    """The screen, and the place in the stream that it belongs to: where nothing came in between."""
    for _ in range(_TRIES):
        offset = stream.end
        shown = await tmux.capture.screen(stream.pane)
        await tmux.streams.catch_up(stream.pane)
        if stream.end == offset:
            break
    return offset, shown


async def _resized(tmux: Tmux, pane: PaneId, file: CastFile, before: tuple[int, int]) -> tuple[int, int]:
    try:
        row = await tmux.panes.get(pane)
    except MuxpilotError:
        return before  # it is just ending
    if (row.width, row.height) != before:
        file.event("r", f"{row.width}x{row.height}")
    return row.width, row.height
