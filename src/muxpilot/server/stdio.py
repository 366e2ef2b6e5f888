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
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

LARGEST_REQUEST = 4 << 20
# So many requests are served at once, those included whose answers nobody reads; the next waits in the pipe.
MOST_UNANSWERED = 500

_READ = 1 << 18
_PIPE = 1 << 16
# How long a client that has left may still read what is due to it.
_GRACE_S = 0.5


@asynccontextmanager
async def stdio() -> AsyncIterator[Wire]:
    with ExitStack() as stack:
        reader = Reader(stack.enter_context(_taken(0, os.O_RDONLY)))
        writer = Writer(stack.enter_context(_taken(1, os.O_WRONLY)))
        unanswered = Unanswered()
        yield Wire(Incoming(reader, writer, unanswered), Outgoing(writer, unanswered))
        await writer.room(0)


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


class Reader:
    """Lines from a descriptor, until its end or `end`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque()
        self._rest = bytearray()
        self._size = 0
        self._readable = asyncio.Event()
        self._is_ended = False

    def end(self) -> None:
        self._is_ended = True
        self._readable.set()

    async def line(self) -> bytes | None:
        while not self._lines and not self._is_ended:
            try:
                data = os.read(self._descriptor, _READ)
            except BlockingIOError:
                await self._until_readable()
                continue
            except OSError:
                data = b""  # the other end was reset: as good as its end
            self._take(data)
            if len(data) >= _PIPE:
                await asyncio.sleep(0)  # a client that never stops sending does not keep the loop for itself
        return self._lines.popleft() if self._lines and not self._is_ended else None

    def _take(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._keep(piece)
            kind = TooLong if self._size > LARGEST_REQUEST else bytes
            self._lines.append(kind(self._rest))
            self._rest.clear()
            self._size = 0
        self._keep(rest)
        self._is_ended |= not data

    def _keep(self, piece: bytes) -> None:
        self._rest += piece
        self._size += len(piece)
        if self._size > LARGEST_REQUEST:
            del self._rest[TooLong.KEPT : -TooLong.KEPT]

    async def _until_readable(self) -> None:
        loop = asyncio.get_running_loop()
        self._readable.clear()
        loop.add_reader(self._descriptor, self._readable.set)
        try:
            await self._readable.wait()
        finally:
            loop.remove_reader(self._descriptor)


class TooLong(bytes):
    """The two ends of a line that is longer than a request may be."""

    __slots__ = ()

    KEPT = 256


class Writer:
    """Bytes to a descriptor, whole and in order, whoever stops waiting meanwhile.

    What is not taken at once waits in memory, and `room` for there to be less of it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._written = asyncio.Event()
        self._is_closed = False

    def write(self, data: bytes) -> None:
        if self._unsent:
            self._unsent += data
        elif not self._is_closed:
            self._unsent += data[self._send(data) :]
            if self._unsent:
                self._loop.add_writer(self._descriptor, self._flush)

    async def room(self, most: int) -> None:
        """Wait until no more than this is unsent."""
        while len(self._unsent) > most:
            self._written.clear()
            await self._written.wait()

    def close(self) -> None:
        """What is unsent is given up, and so is everything from now on."""
        if self._unsent:
            self._loop.remove_writer(self._descriptor)
        self._is_closed = True
        self._unsent.clear()
        self._written.set()

    def _flush(self) -> None:
        del self._unsent[: self._send(self._unsent)]
        if not self._unsent and not self._is_closed:
            self._loop.remove_writer(self._descriptor)
        self._written.set()

    def _send(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.close()  # nobody reads any more; the end of stdin will follow
            return len(data)


class Unanswered:
    """The ids of requests that are being served, or whose answers are not read."""

    def __init__(self) -> None:
        self._ids: set[types.RequestId | None] = set()
        self._fewer = asyncio.Event()
        self._is_open = False

    def add(self, identity: types.RequestId) -> None:
        self._ids.add(identity)

    def discard(self, identity: types.RequestId | None) -> None:
        self._ids.discard(identity)
        self._fewer.set()

    async def room(self) -> None:
        while len(self._ids) >= MOST_UNANSWERED and not self._is_open:
            self._fewer.clear()
            await self._fewer.wait()

    def let_go(self) -> None:
        """Nobody has to wait any more."""
        self._is_open = True
        self._fewer.set()


class Stream:
    """What the SDK asks of both of its streams."""

    async def aclose(self) -> None:
        """The descriptors are closed where they were taken."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Incoming(Stream):
    """The client's messages. What is none is answered here, and never seen by the SDK."""

    def __init__(self, reader: Reader, writer: Writer, unanswered: Unanswered) -> None:
        self._reader = reader
        self._writer = writer
        self._unanswered = unanswered

    async def receive(self) -> SessionMessage | Exception:
        while True:
            await self._unanswered.room()
            line = await self._reader.line()
            if line is None:
                asyncio.get_running_loop().call_later(_GRACE_S, self._writer.close)
                raise anyio.EndOfStream
            message = _parsed(line)
            if not isinstance(message, bytes):
                self._count(message)
                return SessionMessage(message)
            self._writer.write(message)
            await self._writer.room(_PIPE)

    def end(self) -> None:
        """As if the client had left."""
        self._reader.end()
        self._unanswered.let_go()

    def _count(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._unanswered.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._unanswered.discard((message.params or {}).get("requestId"))  # it never will be

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Outgoing(Stream):
    """Our messages; whoever sends one waits until it is, or almost is, with the client."""

    def __init__(self, writer: Writer, unanswered: Unanswered) -> None:
        self._writer = writer
        self._unanswered = unanswered

    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        self._writer.write(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        try:
            await self._writer.room(_PIPE)
        finally:
            if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                self._unanswered.discard(message.id)


@dataclass(frozen=True, slots=True)
class Wire:
    """The two streams that the SDK serves."""

    incoming: Incoming
    outgoing: Outgoing


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
