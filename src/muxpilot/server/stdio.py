"""MCP on stdin and stdout, directly on the event loop.

The SDK's own transport passes every line to a thread and back, which takes longer than a request to tmux.
Here the event loop reads and writes the pipes itself. A client that does not read delays its own answers, and
in the end its own requests, but nothing else. While we serve, descriptor 0 is empty and descriptor 1 is
stderr, so that no other code in this process can read or write the protocol.

Serving ends with the end of stdin. A signal counts as that end, and drops requests that are still running.
A client that closes stdin after its last request (`printf … | muxpilot`) gets a short time for the answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Self

import anyio
import mcp_types as types
from pydantic import ValidationError

from muxpilot.records import record
from muxpilot.server.fast_json import encode_message
from muxpilot.server.fd_streams import (
    LARGEST_LINE,
    PIPE_CAPACITY,
    ByteWriter,
    LineReader,
    TooLongLine,
    take_over_descriptor,
)
from muxpilot.server.sdk_internals import SessionMessage
from muxpilot.trace import area

# The most requests that are served at once, with those whose answers the client has not read. The next ones
# wait in the pipe.
MOST_UNANSWERED = 500

# How many messages may come before the first request. Clients send a notification at most.
_MOST_BEFORE_OPENING = 8

# After the client has closed stdin: how long its calls may finish, and then how long it may read the answers.
_FINISH_S = 0.4
_FLUSH_S = 0.5


_trace = area("server").child(transport="stdio")


@record
class StdioStreams:
    """The two streams that the SDK serves, and a function that ends the input as the client would."""

    incoming: IncomingMessages
    outgoing: OutgoingMessages
    end_input: Callable[[], None]
    first_request: Callable[[], Awaitable[types.JSONRPCRequest | None]]


@asynccontextmanager
async def open_stdio() -> AsyncIterator[StdioStreams]:
    """Take over stdin and stdout for the protocol, until the block ends."""
    with take_over_descriptor(0, os.O_RDONLY) as near, take_over_descriptor(1, os.O_WRONLY) as far:
        reader, writer, unanswered = LineReader(near), ByteWriter(far), PendingRequests()
        incoming = IncomingMessages(reader, writer, unanswered)
        try:
            yield StdioStreams(
                incoming, OutgoingMessages(writer, unanswered), incoming.end, incoming.first_request
            )
            await writer.wait_for_room(0)
        finally:
            reader.close()


class PendingRequests:
    """The ids of requests that run or whose answers the client has not read. 7 and "7" count as one id."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._removal = asyncio.Event()
        self._is_stopped = False

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, identity: object) -> None:
        self._ids.add(str(identity))

    def discard(self, identity: object) -> None:
        self._ids.discard(str(identity))
        self._removal.set()

    async def wait_for_room(self) -> None:
        while len(self._ids) >= MOST_UNANSWERED and not self._is_stopped:
            self._removal.clear()
            await self._removal.wait()

    async def wait_until_empty(self) -> None:
        while self._ids and not self._is_stopped:
            self._removal.clear()
            await self._removal.wait()

    def stop_waiting(self) -> None:
        """Wake every waiting task, now and from now on."""
        self._is_stopped = True
        self._removal.set()


class SdkStream:
    """The interface that the SDK expects of both streams."""

    async def aclose(self) -> None:
        """Do nothing: `open_stdio` closes the descriptors."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class IncomingMessages(SdkStream):
    """Messages from the client. Malformed lines are answered here and never reach the SDK."""

    def __init__(self, reader: LineReader, writer: ByteWriter, unanswered: PendingRequests) -> None:
        self._reader = reader
        self._writer = writer
        self._pending = unanswered
        self._first: deque[SessionMessage] = deque()

    async def first_request(self) -> types.JSONRPCRequest | None:
        """Wait for the first request, without consuming it or what came before it. None if there is none."""
        first: list[SessionMessage] = []
        with suppress(anyio.EndOfStream):
            while True:
                item = await self.receive()
                if isinstance(item.message, types.JSONRPCRequest):
                    self._first.extend((*first, item))
                    return item.message
                first = [*first, item][-_MOST_BEFORE_OPENING:]
        return None

    async def receive(self) -> SessionMessage:
        """Return the next message. Raise EndOfStream once the client has left."""
        if self._first:
            return self._first.popleft()
        while True:
            await self._pending.wait_for_room()
            line = await self._reader.read_line()
            if line is None:
                _trace.debug("input ended", running=len(self._pending))
                with anyio.move_on_after(_FINISH_S):
                    await self._pending.wait_until_empty()
                asyncio.get_running_loop().call_later(_FLUSH_S, self._writer.close)
                raise anyio.EndOfStream
            message = parse_message(line)
            if not isinstance(message, bytes):
                self._track_request(message)
                return SessionMessage(message)
            _trace.info("malformed message", bytes=len(line))
            self._writer.write(message)
            await self._writer.wait_for_room(PIPE_CAPACITY)

    def end(self) -> None:
        """End the input, as if the client had left."""
        self._reader.end()
        self._pending.stop_waiting()

    def _track_request(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._pending.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            # A cancelled request is not answered.
            self._pending.discard((message.params or {}).get("requestId"))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class OutgoingMessages(SdkStream):
    """Messages to the client. `send` waits until the client has read most of what was sent."""

    def __init__(self, writer: ByteWriter, unanswered: PendingRequests) -> None:
        self._writer = writer
        self._pending = unanswered

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message, and wait until the client has read most of what was sent."""
        message = item.message
        self.write(message)
        try:
            await self._writer.wait_for_room(PIPE_CAPACITY)
        finally:
            if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                self._pending.discard(message.id)

    def write(self, message: types.JSONRPCMessage) -> None:
        """Send without waiting for the client to read."""
        self._writer.write(encode_message(message))


def parse_message(line: bytes) -> types.JSONRPCMessage | bytes:
    """Return a message, or the error line that answers a malformed one."""
    if isinstance(line, TooLongLine):
        return _error_line(
            types.INVALID_REQUEST,
            f"Request too large: the limit is {LARGEST_LINE} bytes",
            _find_id_at_ends(line),
        )
    with suppress(ValidationError):  # nearly every message is a request; this check takes a third of the time
        return types.JSONRPCRequest.model_validate_json(line, by_name=False)
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return _describe_malformed(line)
    # A request with an invalid id would pass for a notification, and its sender would wait forever.
    if isinstance(message, types.JSONRPCNotification) and b'"id"' in line and "id" in json.loads(line):
        return _describe_malformed(line)
    return message


def _describe_malformed(line: bytes) -> bytes:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return _error_line(types.PARSE_ERROR, "Parse error: the line is not JSON")
    if not isinstance(message, dict):
        return _error_line(types.PARSE_ERROR, "Parse error: a message is one JSON object")
    identity = message.get("id")
    is_good = isinstance(identity, int | str) and not isinstance(identity, bool)
    return _error_line(types.INVALID_REQUEST, "Invalid request", identity if is_good else None)


# Clients write the id first or last. There it is certainly a member of the outermost object.
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,200}")\s*'
_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb",")
_LAST = re.compile(rb",\s*" + _ID + rb"\}\s*\Z")


def _find_id_at_ends(line: TooLongLine) -> int | str | None:
    found = _FIRST.match(line) or _LAST.search(line, len(line) - TooLongLine.KEPT)
    try:
        identity: int | str | None = json.loads(found[1]) if found else None
    except ValueError:
        return None
    return identity


def _error_line(code: int, words: str, identity: int | str | None = None) -> bytes:
    body = {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": words}}
    return json.dumps(body).encode() + b"\n"
