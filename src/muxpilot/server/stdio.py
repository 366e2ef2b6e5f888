"""MCP on stdin and stdout, directly on the event loop.

A client that does not read delays its own answers, and in the end its own requests, but nothing else. While
we serve, descriptor 0 is empty and descriptor 1 is stderr, so that no other code in this process can read or
write the protocol.

Serving ends with the end of stdin. A signal counts as that end, and drops requests that are still running.
A client that closes stdin after its last request (`printf … | muxpilot`) gets a short time for the answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from muxpilot.protocol.messages import (
    MalformedMessage,
    RequestId,
    RpcMessage,
    RpcNotification,
    RpcRequest,
    encode_error,
    parse_message,
)
from muxpilot.protocol.phases import find_cancelled_id
from muxpilot.protocol.rpc_errors import INVALID_REQUEST
from muxpilot.records import record
from muxpilot.server.fd_streams import (
    LARGEST_LINE,
    PIPE_CAPACITY,
    ByteWriter,
    LineReader,
    TooLongLine,
    take_over_descriptor,
)
from muxpilot.trace import area

# The most requests that are served at once, with those whose answers the client has not read. The next ones
# wait in the pipe.
MOST_UNANSWERED = 500

# After the client has closed stdin: how long its calls may finish, and then how long it may read the answers.
_FINISH_S = 0.4
_FLUSH_S = 0.5


_trace = area("server").child(transport="stdio")


@record
class StdioStreams:
    """Messages from the client, and messages to it."""

    incoming: IncomingMessages
    outgoing: OutgoingMessages


@asynccontextmanager
async def open_stdio(unread: bytes = b"") -> AsyncIterator[StdioStreams]:
    """Take over stdin and stdout for the protocol, until the block ends. `unread` was read before."""
    with take_over_descriptor(0, os.O_RDONLY) as near, take_over_descriptor(1, os.O_WRONLY) as far:
        reader, writer, unanswered = LineReader(near), ByteWriter(far), PendingRequests()
        reader.feed(unread)
        try:
            yield StdioStreams(
                IncomingMessages(reader, writer, unanswered), OutgoingMessages(writer, unanswered)
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

    @property
    def has_room(self) -> bool:
        return len(self._ids) < MOST_UNANSWERED

    def add(self, identity: object) -> None:
        self._ids.add(str(identity))

    def discard(self, identity: object) -> None:
        self._ids.discard(str(identity))
        self._removal.set()

    async def wait_for_room(self) -> None:
        while not self.has_room and not self._is_stopped:
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


class IncomingMessages:
    """Messages from the client. Malformed lines are answered here."""

    def __init__(self, reader: LineReader, writer: ByteWriter, unanswered: PendingRequests) -> None:
        self._reader = reader
        self._writer = writer
        self._pending = unanswered

    async def receive(self) -> RpcMessage | None:
        """Return the next message, or None once the client has left."""
        while True:
            await self._pending.wait_for_room()
            line = await self._reader.read_line()
            if line is None:
                await self._wait_for_answers()
                return None
            try:
                message = _parse_line(line)
            except MalformedMessage as error:
                _trace.info("malformed message", bytes=len(line), code=error.code)
                self._writer.write(encode_error(error.id, error) + b"\n")
                await self._writer.wait_for_room(PIPE_CAPACITY)
                continue
            self._track_request(message)
            return message

    def hand_over_requests(self, handle: Callable[[RpcRequest], None]) -> None:
        """Give requests to `handle` as soon as they are read, while there is room. It must not wait.

        That saves each request one turn of the event loop. `receive` returns everything else.
        """

        def take(line: bytes) -> bool:
            """Handle a line if it is a request, and leave all others for `receive`."""
            if not self._pending.has_room or isinstance(line, TooLongLine):
                return False
            try:
                message = parse_message(line)
            except MalformedMessage:
                return False
            if not isinstance(message, RpcRequest):
                return False
            self._pending.add(message.id)
            handle(message)
            return True

        self._reader.take_at_once = take

    def end(self) -> None:
        """End the input, as if the client had left."""
        self._reader.end()
        self._pending.stop_waiting()
        self._close_later()

    async def _wait_for_answers(self) -> None:
        _trace.debug("input ended", running=len(self._pending))
        with suppress(TimeoutError):
            await asyncio.wait_for(self._pending.wait_until_empty(), _FINISH_S)
        self._close_later()

    def _close_later(self) -> None:
        asyncio.get_running_loop().call_later(_FLUSH_S, self._writer.close)

    def _track_request(self, message: RpcMessage) -> None:
        if message.__class__ is RpcRequest:
            self._pending.add(message.id)
        elif isinstance(message, RpcNotification) and message.method == "notifications/cancelled":
            self._pending.discard(find_cancelled_id(message.params))  # a cancelled request is not answered


class OutgoingMessages:
    """Messages to the client. `send` waits until the client has read most of what was sent."""

    def __init__(self, writer: ByteWriter, unanswered: PendingRequests) -> None:
        self._writer = writer
        self._pending = unanswered

    async def send(self, message: bytes) -> None:
        """Send a message, and wait until the client has read most of what was sent."""
        self._writer.write(message + b"\n")
        await self._writer.wait_for_room(PIPE_CAPACITY)

    async def send_answer(self, identity: RequestId, message: bytes) -> None:
        """Send the answer to a request. The request counts as running until the client has read it."""
        try:
            await self.send(message)
        finally:
            self._pending.discard(identity)

    def write(self, message: bytes) -> None:
        """Send without waiting for the client to read."""
        self._writer.write(message + b"\n")


def _parse_line(line: bytes) -> RpcMessage:
    if isinstance(line, TooLongLine):
        words = f"Request too large: the limit is {LARGEST_LINE} bytes"
        raise MalformedMessage(INVALID_REQUEST, words, _find_id_at_ends(line))
    return parse_message(line)


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
