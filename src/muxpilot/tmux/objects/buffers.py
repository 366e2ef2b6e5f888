"""Paste buffers, byte for byte, whatever they hold.

Content goes through private files where the control line cannot carry it: a line has no room for NUL,
and tmux prints buffers with escapes. Files of the caller's own are read and written by us: tmux says
nothing on a control line when it cannot.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from muxpilot.errors import BadInput, ConnectionLost, MuxpilotError, NotAnswering, NotFound
from muxpilot.tmux.connection import oneshot
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.connection.failures import failure
from muxpilot.tmux.models import BUFFER, Buffer
from muxpilot.tmux.objects import validate
from muxpilot.tmux.quote import literal

_LONGEST_LINE = 1 << 15
_TIDY_S = 1.0
_DISCARD_TRIES = 10
_DISCARD_PAUSE_S = 0.5


class Buffers:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._changing = asyncio.Lock()
        self._discarding: set[asyncio.Task[None]] = set()

    async def list(self) -> Sequence[Buffer]:
        return await self._connection.records(BUFFER, Buffer, "list-buffers")

    async def get(self, name: str | None = None) -> bytes:
        """The content of a buffer, or of the newest."""
        which = _given(name) if name is not None else await self._newest()
        if self._is_far:
            async with self._connection.deadline():
                return await oneshot.printed(self._connection.endpoint, ("save-buffer", "-b", which, "-"))
        with self._file() as path:
            await self._connection.run(("save-buffer", "-b", which, "--", literal(str(path))))
            return path.read_bytes()

    @asynccontextmanager
    async def opened(self, name: str | None = None) -> AsyncIterator[BinaryIO]:
        """The content of a buffer, or of the newest, as a private file that has no name any more."""
        which = _given(name) if name is not None else await self._newest()
        with self._file() as path:
            if self._is_far:
                path.write_bytes(await self.get(which))
            else:
                await self._connection.run(("save-buffer", "-b", which, "--", literal(str(path))))
            file = path.open("rb")
        with file:
            yield file

    async def take(self, name: str, file: BinaryIO) -> None:
        """Set a buffer to what a file holds, however much that is."""
        if self._is_far:
            await self.set(name, await asyncio.to_thread(file.read))
            return
        validate.name("buffer name", name)
        with self._file() as path:
            size = await asyncio.to_thread(_copied, file, path)
            if not size:
                raise _empty()
            await self._change("load-buffer", "-b", name, "--", literal(str(path)))

    async def set(self, name: str, data: bytes) -> None:
        validate.name("buffer name", name)
        if not data:
            raise _empty()
        if _fits_a_line(data):
            await self._change("set-buffer", "-b", name, "--", data)
            return
        if self._is_far:
            await self._send(name, data)
            return
        with self._file() as path:
            path.write_bytes(data)
            await self._change("load-buffer", "-b", name, "--", literal(str(path)))

    async def append(self, name: str, data: bytes) -> None:
        """Add to a buffer, or make it; no other append comes between, of ours or of another muxpilot."""
        validate.name("buffer name", name)
        if not data:
            if not any(row.name == name for row in await self.list()):
                raise _empty()
            return
        async with self._changing, self._turn_to_append():
            if _fits_a_line(data):
                await self._change("set-buffer", "-a", "-b", name, "--", data)
                return
            try:
                before = await self.get(name)
            except NotFound:
                before = b""
            await self.set(name, before + data)

    @asynccontextmanager
    async def _turn_to_append(self) -> AsyncIterator[None]:
        """A lock beside the server's own, which a change may take meanwhile."""
        endpoint = self._connection.endpoint
        beside = replace(endpoint, socket=f"{endpoint.socket}.append")
        async with self._connection.deadline(), beside.turn():
            yield

    async def rename(self, old: str, new: str) -> None:
        """A buffer that already has the new name is not replaced."""
        validate.name("buffer name", new)
        async with self._changing:
            if any(row.name == new for row in await self.list()):
                raise BadInput(
                    f"A buffer named {new!r} is already there.", "Delete it first, or use another name."
                )
            await self._change("set-buffer", "-b", _given(old), "-n", new)

    async def delete(self, name: str) -> None:
        await self._change("delete-buffer", "-b", _given(name))

    def discard(self, name: str) -> asyncio.Task[None]:
        """Delete it if it is there, without making anybody wait: tmux may not answer."""
        task = asyncio.create_task(self._discard(name))
        self._discarding.add(task)
        task.add_done_callback(self._discarding.discard)
        return task

    async def close(self) -> None:
        if self._discarding:
            await asyncio.wait(self._discarding, timeout=_TIDY_S)
        for task in self._discarding:
            task.cancel()

    async def _discard(self, name: str) -> None:
        """Where tmux does not answer it is tried again: nobody else knows of this buffer."""
        for _ in range(_DISCARD_TRIES):
            try:
                await self.delete(name)
                break
            except (ConnectionLost, NotAnswering):
                await asyncio.sleep(_DISCARD_PAUSE_S)
            except MuxpilotError:
                break  # it was not made, or tmux is gone

    async def save(self, name: str | None, path: Path) -> None:
        """Write a buffer to a file that the caller has judged."""
        data = await self.get(name)
        with _file_errors(path):
            await asyncio.to_thread(path.write_bytes, data)

    async def load(self, name: str, path: Path) -> None:
        """Read a buffer from a file that the caller has judged."""
        validate.name("buffer name", name)
        with _file_errors(path):
            data = await asyncio.to_thread(path.read_bytes)
        await self.set(name, data)

    @property
    def _is_far(self) -> bool:
        return self._connection.endpoint.is_far

    async def _send(self, name: str, data: bytes) -> None:
        """To another host by a process of its own, which reads it from its stdin."""
        command = ("load-buffer", "-b", name, "-")
        async with self._connection.deadline(), self._connection.changing_buffers():
            reply = await oneshot.run(self._connection.endpoint, (command,), data=data)
        if reply.error is not None:
            raise failure(reply.error)

    async def _change(self, *command: str | bytes) -> None:
        async with self._connection.changing_buffers():
            await self._connection.run(command)

    async def _newest(self) -> str:
        """tmux 3.4 and newer would leave out those that were given a name."""
        for row in await self.list():
            return row.name
        raise NotFound("buffer", None, hint="Use set-buffer to make one.")

    @contextmanager
    def _file(self) -> Iterator[Path]:
        path = self._connection.scratch.file("buffer")
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadInput(f"The file {str(path)!r} cannot be used: {error.strerror}.") from None


def _copied(file: BinaryIO, path: Path) -> int:
    with path.open("wb") as copy:
        shutil.copyfileobj(file, copy, 1 << 20)
        return copy.tell()


def _empty() -> BadInput:
    return BadInput("A buffer cannot be empty.", "Give some content, or delete the buffer.")


def _fits_a_line(data: bytes) -> bool:
    return len(data) <= _LONGEST_LINE and b"\0" not in data


def _given(name: str) -> str:
    if not name:
        raise BadInput("The buffer's name is empty.", "Use list-buffers to see the buffers there are.")
    return name
