"""The recordings that run: each follows a pane's stream until it is stopped, or the pane ends."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muxpilot.errors import BadInput, MuxpilotError
from muxpilot.record.cast import CastFile, first_look
from muxpilot.tmux import Data, End, Gap, PaneId, PaneStream, Tmux

LARGEST_BYTES = 256 << 20
_LOOK_AGAIN_S = 1.0
_TRIES = 5


@dataclass(slots=True)
class Recording:
    file: CastFile
    task: asyncio.Task[None]


class Recordings:
    def __init__(self, *, largest_bytes: int = LARGEST_BYTES) -> None:
        self._largest = largest_bytes
        self._running: dict[tuple[str, PaneId], Recording] = {}

    async def start(self, tmux: Tmux, pane: PaneId, path: Path) -> CastFile:
        """From now on; what the pane shows already is painted first."""
        key = (tmux.socket, pane)
        known = self._running.get(key)
        if known is not None and not known.task.done():
            raise BadInput(f"Pane {pane!r} is recorded already, to {known.file.path}.", "Stop that first.")
        ready: asyncio.Future[CastFile] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._follow(tmux, pane, path, ready))
        either: list[asyncio.Future[Any]] = [ready, task]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            task.cancel()
            raise
        if not ready.done():
            await task  # raises why
        file = ready.result()
        self._running[key] = Recording(file, task)
        return file

    async def stop(self, tmux: Tmux, pane: PaneId) -> CastFile:
        recording = self._running.pop((tmux.socket, pane), None)
        if recording is None:
            await tmux.panes.get(pane)  # one that is not there is said to be so
            raise BadInput(f"Pane {pane!r} is not being recorded.", "Start it with action 'start'.")
        with contextlib.suppress(MuxpilotError):
            await tmux.streams.catch_up(pane)
        await asyncio.sleep(0)  # what came last is written before it ends
        await _ended(recording)
        return recording.file

    async def close(self) -> None:
        running, self._running = self._running, {}
        await asyncio.gather(*map(_ended, running.values()))

    async def _follow(self, tmux: Tmux, pane: PaneId, path: Path, ready: asyncio.Future[CastFile]) -> None:
        async with tmux.streams.open(pane) as stream:
            offset, file, size = await _begun(tmux, stream, path)
            with contextlib.closing(file):
                ready.set_result(file)
                looked = time.monotonic()
                async for event in stream.follow(offset):
                    if isinstance(event, End) or file.bytes > self._largest:
                        return
                    if isinstance(event, Gap):
                        file.event("m", f"{event.lost or 'some'} bytes are missing: {event.reason}")
                    elif isinstance(event, Data):
                        if time.monotonic() - looked > _LOOK_AGAIN_S:
                            looked, size = time.monotonic(), await _resized(tmux, pane, file, size)
                        file.output(event.data)


async def _begun(tmux: Tmux, stream: PaneStream, path: Path) -> tuple[int, CastFile, tuple[int, int]]:
    """The screen, and the place in the stream that it belongs to: where nothing came in between."""
    for _ in range(_TRIES):
        offset = stream.end
        shown = await tmux.capture.screen(stream.pane)
        await tmux.streams.catch_up(stream.pane)
        if stream.end == offset:
            break
    file = CastFile(path, shown.columns, shown.rows)
    file.event("o", first_look(shown.lines, shown.cursor))
    return offset, file, (shown.columns, shown.rows)


async def _resized(tmux: Tmux, pane: PaneId, file: CastFile, before: tuple[int, int]) -> tuple[int, int]:
    try:
        row = await tmux.panes.get(pane)
    except MuxpilotError:
        return before  # it is just ending
    if (row.width, row.height) != before:
        file.event("r", f"{row.width}x{row.height}")
    return row.width, row.height


async def _ended(recording: Recording) -> None:
    recording.task.cancel()
    await asyncio.wait([recording.task])
    if not recording.task.cancelled():
        recording.task.exception()  # it ended by itself, however; the file tells how far it came
    recording.file.close()
