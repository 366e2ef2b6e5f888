"""MCP on stdin and stdout, straight on the event loop.

The SDK's own transport hands every line to a thread and back, which takes longer than tmux does. Here
the loop reads and writes the pipes itself. A client that does not read makes its own answers wait, and
in the end its own requests, but nothing else. While we serve, descriptor 0 is empty and descriptor 1 is
stderr, so that nothing else in this process can read or write the protocol.

There is one way out: the end of stdin. A signal is taken as that, but for those who wait: whoever closes
stdin after the last question (`printf … | muxpilot`) may still get answers that take no long time.
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
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from muxpilot.records import record
from muxpilot.server.fast_json import line_of
from muxpilot.server.fd_streams import LARGEST_LINE, PIPE, Reader, TooLong, Writer, taken

# So many requests are served at once, those included whose answers nobody reads; the next waits in the pipe.
MOST_UNANSWERED = 500

# What may come before the first request: a notification that the client is ready, if anything.
_MOST_BEFORE_OPENING = 8

# How long calls go on whose client has closed its end, and how long it may then read what is due to it.
_PATIENCE_S = 0.4
_GRACE_S = 0.5


@record
class Wire:
    """The two streams that the SDK serves, and the way to end them as the client would."""

    incoming: Incoming
    outgoing: Outgoing
    leave: Callable[[], None]
    opening: Callable[[], Awaitable[types.JSONRPCRequest | None]]


@asynccontextmanager
async def stdio() -> AsyncIterator[Wire]:
    with taken(0, os.O_RDONLY) as near, taken(1, os.O_WRONLY) as far:
        reader, writer, unanswered = Reader(near), Writer(far), Unanswered()
        incoming = Incoming(reader, writer, unanswered)
        try:
            yield Wire(incoming, Outgoing(writer, unanswered), incoming.end, incoming.opening)
            await writer.room(0)
        finally:
            reader.close()


class Unanswered:
    """The ids of requests that are being served, or whose answers are not read; 7 and "7" are the same."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._fewer = asyncio.Event()
        self._is_open = False

    def add(self, identity: object) -> None:
        self._ids.add(str(identity))

    def discard(self, identity: object) -> None:
        self._ids.discard(str(identity))
        self._fewer.set()

    async def room(self) -> None:
        while len(self._ids) >= MOST_UNANSWERED and not self._is_open:
            self._fewer.clear()
            await self._fewer.wait()

    async def none(self) -> None:
        while self._ids and not self._is_open:
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
        self._first: deque[SessionMessage] = deque()

    async def opening(self) -> types.JSONRPCRequest | None:
        """The first request. It will be received all the same, after what came before it."""
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
        if self._first:
            return self._first.popleft()
        while True:
            await self._unanswered.room()
            line = await self._reader.line()
            if line is None:
                with anyio.move_on_after(_PATIENCE_S):
                    await self._unanswered.none()
                asyncio.get_running_loop().call_later(_GRACE_S, self._writer.close)
                raise anyio.EndOfStream
            message = parsed(line)
            if not isinstance(message, bytes):
                self._count(message)
                return SessionMessage(message)
            self._writer.write(message)
            await self._writer.room(PIPE)

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

    async def __anext__(self) -> SessionMessage:
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
        self.write(message)
        try:
            await self._writer.room(PIPE)
        finally:
            if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                self._unanswered.discard(message.id)

    def write(self, message: types.JSONRPCMessage) -> None:
        """Without waiting for anything."""
        self._writer.write(line_of(message))


def parsed(line: bytes) -> types.JSONRPCMessage | bytes:
    """A message, or the error that answers what is none."""
    if isinstance(line, TooLong):
        return _error(
            types.INVALID_REQUEST,
            f"Request too large: the limit is {LARGEST_LINE} bytes",
            _identity_at_an_end(line),
        )
    with suppress(ValidationError):  # almost always it is one, which takes a third of the time to see
        return types.JSONRPCRequest.model_validate_json(line, by_name=False)
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
