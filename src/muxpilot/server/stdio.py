"""MCP on stdin and stdout, straight on the event loop.

The SDK's own transport hands every line to a thread and back, which takes longer than tmux does. Here
the loop reads and writes the pipes itself. A client that does not read makes its own answers wait, and
in the end its own requests, but nothing else. While we serve, descriptor 0 is empty and descriptor 1 is
stderr, so that nothing else in this process can read or write the protocol.

There is one way out: the end of stdin. A signal is taken as that.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

LARGEST_REQUEST = 4 * 1024 * 1024
# With more answers than this unread, the next request is left in the pipe: memory has an end.
MOST_UNREAD = 500

_READ = 1 << 18
_WRITE = 1 << 20
# How long a client that has left may still read what is due to it.
_GRACE_S = 0.5

Inbox = MemoryObjectSendStream[SessionMessage | Exception]
Outbox = MemoryObjectReceiveStream[SessionMessage]


@dataclass(frozen=True, slots=True)
class Wire:
    """The two streams that the SDK serves, and the way to end them as the client would."""

    incoming: MemoryObjectReceiveStream[SessionMessage | Exception]
    outgoing: MemoryObjectSendStream[SessionMessage]
    leave: Callable[[], None]


@asynccontextmanager
async def stdio() -> AsyncIterator[Wire]:
    inbox, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, outbox = anyio.create_memory_object_stream[SessionMessage](0)
    with ExitStack() as stack:
        reader = Reader(stack.enter_context(_taken(0, os.O_RDONLY)))
        writer = Writer(stack.enter_context(_taken(1, os.O_WRONLY)))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_receive, reader, inbox, writer, outbox)
            tasks.start_soon(_send, outbox, writer)
            yield Wire(incoming, outgoing, reader.end)


@contextmanager
def _taken(descriptor: int, mode: int) -> Iterator[int]:
    """The wire on a private descriptor, and something harmless in its old place."""
    private = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    was_blocking = os.get_blocking(private)
    instead = os.open(os.devnull, mode) if descriptor == 0 or not _is_open(2) else os.dup(2)
    os.dup2(instead, descriptor)
    os.close(instead)
    os.set_blocking(private, False)
    try:
        yield private
    finally:
        os.set_blocking(private, was_blocking)  # a terminal is shared with whoever started us
        os.close(private)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


class TooLong(bytes):
    """The two ends of a line that is longer than a request may be."""

    __slots__ = ()

    KEPT = 256


class Reader:
    """Lines from a descriptor, until its end or `end`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._line = bytearray()
        self._size = 0
        self._pause = Pause()
        self._is_ended = False

    def end(self) -> None:
        self._is_ended = True
        self._pause.wake()

    async def lines(self) -> AsyncIterator[bytes]:
        while data := await self._read():
            *whole, rest = data.split(b"\n")
            for piece in whole:
                self._keep(piece)
                yield self._complete()
            self._keep(rest)
            await asyncio.sleep(0)  # a client that never stops sending does not keep the loop for itself

    def _keep(self, piece: bytes) -> None:
        self._line += piece
        self._size += len(piece)
        if self._size > LARGEST_REQUEST:
            del self._line[TooLong.KEPT : -TooLong.KEPT]

    def _complete(self) -> bytes:
        kind = TooLong if self._size > LARGEST_REQUEST else bytes
        line = kind(self._line)
        self._line.clear()
        self._size = 0
        return line

    async def _read(self) -> bytes:
        while not self._is_ended:
            try:
                return os.read(self._descriptor, _READ)
            except BlockingIOError:
                await self._pause.until_readable(self._descriptor)
            except OSError:
                break  # the other end was reset: as good as its end
        return b""


class Writer:
    """Bytes to a descriptor, whole and in order; `write` waits while they are not taken."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = asyncio.Lock()
        self._pause = Pause()
        self._is_closed = False

    async def write(self, data: bytes) -> None:
        async with self._lock:
            view = memoryview(data)
            while view and not self._is_closed:
                try:
                    view = view[os.write(self._descriptor, view[:_WRITE]) :]
                except BlockingIOError:
                    await self._pause.until_writable(self._descriptor)
                except OSError:
                    self.close()  # nobody reads any more; the end of stdin will follow

    async def turn(self) -> None:
        """Wait until what is being written is written."""
        async with self._lock:
            await asyncio.sleep(0)

    def close(self) -> None:
        """Nothing is written, or waited for, from now on."""
        self._is_closed = True
        self._pause.wake()


class Pause:
    """One wait at a time for a descriptor, which `wake` can end early. A regular file is always ready."""

    def __init__(self) -> None:
        self._future: asyncio.Future[None] | None = None

    def wake(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    async def until_readable(self, descriptor: int) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(descriptor, self.wake)
        try:
            await self._woken(loop)
        finally:
            loop.remove_reader(descriptor)

    async def until_writable(self, descriptor: int) -> None:
        loop = asyncio.get_running_loop()
        loop.add_writer(descriptor, self.wake)
        try:
            await self._woken(loop)
        finally:
            loop.remove_writer(descriptor)

    async def _woken(self, loop: asyncio.AbstractEventLoop) -> None:
        self._future = loop.create_future()
        await self._future


async def _receive(reader: Reader, inbox: Inbox, writer: Writer, outbox: Outbox) -> None:
    async with inbox:
        async for line in reader.lines():
            message = _parsed(line)
            if isinstance(message, bytes):
                await writer.write(message)
            else:
                await inbox.send(SessionMessage(message))
            while outbox.statistics().tasks_waiting_send > MOST_UNREAD:
                await writer.turn()
    asyncio.get_running_loop().call_later(_GRACE_S, writer.close)


async def _send(outbox: Outbox, writer: Writer) -> None:
    async with outbox:
        async for item in outbox:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await writer.write(text.encode() + b"\n")


def _parsed(line: bytes) -> types.JSONRPCMessage | bytes:
    """A message, or the error that answers what is none."""
    if isinstance(line, TooLong):
        return _error(
            types.INVALID_REQUEST,
            f"Request too large: the limit is {LARGEST_REQUEST} bytes",
            _identity_at_an_end(line),
        )
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return _complaint(line)
    # A request whose id is no id would pass for a notification, and its sender wait for ever.
    if isinstance(message, types.JSONRPCNotification) and b'"id"' in line and "id" in json.loads(line):
        return _complaint(line)
    return message


def _complaint(line: bytes) -> bytes:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return _error(types.PARSE_ERROR, "Parse error: the line is not JSON")
    if not isinstance(message, dict):
        return _error(types.PARSE_ERROR, "Parse error: a message is one JSON object")
    identity = message.get("id")
    is_good = isinstance(identity, int | str) and not isinstance(identity, bool)
    return _error(types.INVALID_REQUEST, "Invalid request", identity if is_good else None)


# A member of the outermost object for certain: clients write the id first or last.
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,200}")\s*'
_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb",")
_LAST = re.compile(rb",\s*" + _ID + rb"\}\s*\Z")


def _identity_at_an_end(line: TooLong) -> int | str | None:
    found = _FIRST.match(line) or _LAST.search(line, len(line) - TooLong.KEPT)
    try:
        identity: int | str | None = json.loads(found[1]) if found else None
    except ValueError:
        return None
    return identity


def _error(code: int, words: str, identity: int | str | None = None) -> bytes:
    body = {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": words}}
    return json.dumps(body).encode() + b"\n"
