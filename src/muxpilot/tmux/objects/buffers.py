"""Paste buffers: list, read, write, rename and delete them. Their content is exact, byte for byte.

Content that a control line cannot carry goes through private files: a line cannot hold NUL, and tmux prints
buffers with escapes.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from muxpilot.errors import BadInput, ConnectionLost, MuxpilotError, NotAnswering, NotFound
from muxpilot.tasks import TaskSet
from muxpilot.tmux.connection import oneshot
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.connection.failures import error_from_message
from muxpilot.tmux.models import BUFFER, Buffer
from muxpilot.tmux.objects.validate import validate_name
from muxpilot.tmux.quote import escape_format
from muxpilot.tmux.version import MISSING_BUFFERS_ARE_REFUSED

_LONGEST_LINE = 1 << 15
_COPY_BYTES = 1 << 20
_CLOSE_S = 1.0
_DISCARD_TRIES = 10
_DISCARD_PAUSE_S = 0.5


class Buffers:
    """The paste buffers of one server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._change_lock = asyncio.Lock()  # makes "read, then write" one step
        self._discards = TaskSet(connection.endpoint.trace)

    async def list(self) -> Sequence[Buffer]:
        return await self._connection.list_records(BUFFER, Buffer, "list-buffers")

    async def get(self, name: str | None = None) -> bytes:
        """Return the content of a buffer, or of the newest."""
        which = await self._resolve_name(name)
        if self._is_remote:
            async with self._connection.deadline():
                return await oneshot.read_stdout(self._connection.endpoint, ("save-buffer", "-b", which, "-"))
        with self._private_path() as path:
            await self._connection.run(("save-buffer", "-b", which, "--", escape_format(str(path))))
            return path.read_bytes()

    @asynccontextmanager
    async def open_content(self, name: str | None = None) -> AsyncIterator[BinaryIO]:
        """Open the content of a buffer, or of the newest, as a private file that is already unlinked."""
        which = await self._resolve_name(name)
        with self._private_path() as path:
            if self._is_remote:
                path.write_bytes(await self.get(which))
            else:
                await self._connection.run(("save-buffer", "-b", which, "--", escape_format(str(path))))
            file = path.open("rb")
        with file:
            yield file

    async def set_from_file(self, name: str, file: BinaryIO) -> None:
        """Set a buffer to the rest of a file, of any size."""
        if self._is_remote:
            await self.set(name, await asyncio.to_thread(file.read))
            return
        validate_name("buffer name", name)
        with self._private_path() as path:
            size = await asyncio.to_thread(_copy, file, path)
            if not size:
                raise _empty_content()
            await self._change("load-buffer", "-b", name, "--", escape_format(str(path)))

    async def set(self, name: str, data: bytes) -> None:
        """Set a buffer to these bytes."""
        validate_name("buffer name", name)
        if not data:
            raise _empty_content()
        if _fits_a_line(data):
            await self._change("set-buffer", "-b", name, "--", data)
            return
        if self._is_remote:
            await self._send_to_remote(name, data)
            return
        with self._private_path() as path:
            path.write_bytes(data)
            await self._change("load-buffer", "-b", name, "--", escape_format(str(path)))

    async def append(self, name: str, data: bytes) -> None:
        """Append to a buffer, or create it. Appends of other calls and other muxpilots wait for this one."""
        validate_name("buffer name", name)
        if not data:
            if not any(row.name == name for row in await self.list()):
                raise _empty_content()
            return
        async with self._change_lock, self._append_lock():
            if _fits_a_line(data):
                await self._change("set-buffer", "-a", "-b", name, "--", data)
                return
            try:
                before = await self.get(name)
            except NotFound:
                before = b""
            await self.set(name, before + data)

    @asynccontextmanager
    async def _append_lock(self) -> AsyncIterator[None]:
        """Hold a cross-process lock for appending. It is not the server's own, which a change may need."""
        endpoint = self._connection.endpoint
        append_endpoint = replace(endpoint, socket=f"{endpoint.socket}.append")
        async with self._connection.deadline(), append_endpoint.attach_lock():
            yield

    async def rename(self, old: str, new: str) -> None:
        """Rename a buffer. Refuse if another buffer already has the new name."""
        validate_name("buffer name", new)
        async with self._change_lock:
            if any(row.name == new for row in await self.list()):
                raise BadInput(
                    f"A buffer named {new!r} already exists.", "Delete it first, or use another name."
                )
            await self._require_buffer(old)
            await self._change("set-buffer", "-b", old, "-n", new)

    async def delete(self, name: str) -> None:
        await self._require_buffer(name)
        await self._change("delete-buffer", "-b", name)

    async def _require_buffer(self, name: str) -> None:
        """Raise NotFound where an older tmux would take the newest buffer, which may be a person's."""
        _require_name(name)
        takes_other = await self._connection.server_version() < MISSING_BUFFERS_ARE_REFUSED
        if takes_other and all(row.name != name for row in await self.list()):
            raise NotFound("buffer", name)

    def discard(self, name: str) -> asyncio.Task[None]:
        """Delete a buffer in the background if it exists: tmux may not answer."""
        return self._discards.start(self._discard(name))

    async def close(self) -> None:
        """Wait a moment for buffers that are being discarded, then give up."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await self._discards.wait()
        await self._discards.close()

    async def _discard(self, name: str) -> None:
        """Delete a buffer; try again if tmux does not answer, because no other program knows its name."""
        for _ in range(_DISCARD_TRIES):
            try:
                await self.delete(name)
                break
            except (ConnectionLost, NotAnswering):
                await asyncio.sleep(_DISCARD_PAUSE_S)
            except MuxpilotError:
                break  # it was never created, or tmux is gone

    @property
    def _is_remote(self) -> bool:
        return self._connection.endpoint.is_remote

    async def _send_to_remote(self, name: str, data: bytes) -> None:
        """Send content to another host through the stdin of a separate tmux process."""
        command = ("load-buffer", "-b", name, "-")
        async with self._connection.deadline(), self._connection.lock_for_buffer_change():
            reply = await oneshot.run(self._connection.endpoint, (command,), data=data)
        if reply.error is not None:
            raise error_from_message(reply.error)

    async def _change(self, *command: str | bytes) -> None:
        async with self._connection.lock_for_buffer_change():
            await self._connection.run(command)

    async def _resolve_name(self, name: str | None) -> str:
        """Return the given name, or the newest buffer: without -b, tmux 3.4 and newer skip named ones."""
        if name is not None:
            return _require_name(name)
        for row in await self.list():
            return row.name
        raise NotFound("buffer", None, hint="Use set-buffer to create one.")

    @contextmanager
    def _private_path(self) -> Iterator[Path]:
        path = self._connection.temporary_folder.unused_path("buffer")
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)


def _copy(file: BinaryIO, path: Path) -> int:
    with path.open("wb") as copy:
        shutil.copyfileobj(file, copy, _COPY_BYTES)
        return copy.tell()


def _empty_content() -> BadInput:
    return BadInput("A buffer cannot be empty.", "Give some content, or delete the buffer.")


def _fits_a_line(data: bytes) -> bool:
    return len(data) <= _LONGEST_LINE and b"\0" not in data


def _require_name(name: str) -> str:
    if not name:
        raise BadInput("The buffer name is empty.", "Use list-buffers to see the buffers.")
    return name
