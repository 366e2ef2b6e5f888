"""One HTTP request and its response: JSON where only the answer is sent, otherwise a stream of events.

A response stays open until it must begin: with the answer, as JSON; with a notification or a request to the
client, as events; or after 15 s, as events with pings, because proxies close connections that are silent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from muxpilot.protocol.messages import RequestId, encode_error
from muxpilot.protocol.rpc_errors import (
    CONNECTION_CLOSED,
    HTTP_STATUS,
    REQUEST_CANCELLED,
    ProtocolError,
)
from muxpilot.records import record
from muxpilot.server.event_log import PING, EventLog
from muxpilot.tasks import TaskSet
from muxpilot.trace import area
from muxpilot.web.asgi import Message, Receive, Send

# How long a response may be silent.
PING_S = 15.0
# When we begin to look whether the client is still there. Most requests are answered before.
_WATCH_AFTER_S = 0.1

_trace = area("server").child(transport="http")

Headers = list[tuple[bytes, bytes]]

_STREAM_HEADERS: Headers = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


@record
class HttpRequest:
    """One HTTP request that has passed the checks. Values of a repeated header are joined."""

    method: str
    headers: Mapping[bytes, bytes]
    raw_headers: Headers
    body: bytes
    receive: Receive
    send: Send

    def header(self, name: str) -> str | None:
        """Return a header as text, or None."""
        value = self.headers.get(name.encode())
        return None if value is None else value.decode("latin-1")

    async def respond(self, status: int, body: bytes = b"", headers: Headers | None = None) -> None:
        """Send a whole response. A body is JSON."""
        kind = [(b"content-type", b"application/json")] if body else []
        length = (b"content-length", b"%d" % len(body))
        await self.send(_start(status, [*kind, length, *(headers or [])]))
        await self.send({"type": "http.response.body", "body": body, "more_body": False})

    async def refuse(
        self,
        status: int,
        error: ProtocolError,
        identity: RequestId | None = None,
        headers: Headers | None = None,
    ) -> None:
        """Send a response that holds only an error."""
        _trace.info("request refused", status=status, code=error.code, method=self.method)
        await self.respond(status, encode_error(identity, error), headers)

    async def start_stream(self, headers: Headers) -> None:
        await self.send(_start(200, [*_STREAM_HEADERS, *headers]))

    async def send_event(self, event: bytes) -> None:
        await self.send(_part(event))

    async def end_stream(self, event: bytes = b"") -> None:
        await self.send({"type": "http.response.body", "body": event, "more_body": False})

    async def wait_until_gone(self) -> None:
        """Wait until the client has closed the connection."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


class HttpCall:
    """A JSON-RPC request that runs in the task of its HTTP request.

    `ends_with_connection`: since 2026-07-28, a client cancels a request by closing the connection. Before, it
    may lose the connection and get the rest of the events by another one.
    """

    def __init__(
        self,
        http: HttpRequest,
        identity: RequestId,
        log: EventLog,
        *,
        headers: Headers,
        has_priming_event: bool = False,
        ends_with_connection: bool = False,
    ) -> None:
        self.log = log
        self.has_stream = False
        self._http = http
        self._id = identity
        self._headers = headers
        self._has_priming_event = has_priming_event
        self._ends_with_connection = ends_with_connection
        self._lock = asyncio.Lock()
        self._task = asyncio.current_task()
        self._end: ProtocolError | None = None
        self._is_finished = False
        self._is_gone = False
        self._beside: TaskSet | None = None

    async def deliver(self, message: bytes) -> None:
        """Send a message before the answer. The response becomes a stream of events."""
        async with self._lock:
            if not self._is_finished:
                await self._begin_stream()
                await self._http.send_event(self.log.add(message))

    def cancel(self) -> None:
        """End the request because its client has cancelled it. Over HTTP it is answered all the same."""
        self._stop(ProtocolError(REQUEST_CANCELLED, "Request cancelled"))

    def end(self) -> None:
        """End the request because its session ends."""
        self._stop(ProtocolError(CONNECTION_CLOSED, "The session has ended"))

    async def run(self, work: Awaitable[tuple[bytes, ProtocolError | None]]) -> None:
        """Wait for the answer and send it. `work` returns the answer, and its error if it is one."""
        loop = asyncio.get_running_loop()
        timers = [loop.call_later(PING_S, self._start_beside, self._send_pings)]
        if self._ends_with_connection:
            timers.append(loop.call_later(_WATCH_AFTER_S, self._start_beside, self._watch_connection))
        try:
            message, error = await self._wait_for(work)
            self._is_finished = True
            await self._finish(message, error)
        finally:
            for timer in timers:
                timer.cancel()
            if self._beside is not None:
                self._beside.cancel()

    async def _wait_for(
        self, work: Awaitable[tuple[bytes, ProtocolError | None]]
    ) -> tuple[bytes, ProtocolError | None]:
        try:
            return await work
        except asyncio.CancelledError:
            if self._end is None or self._task is None:
                raise
            self._task.uncancel()
            return encode_error(self._id, self._end), self._end

    async def _finish(self, message: bytes, error: ProtocolError | None) -> None:
        if self._is_gone:
            return
        async with self._lock:
            if self.has_stream:
                event = self.log.add(message)
                self.log.end()
                await self._http.end_stream(event)
            else:
                status = HTTP_STATUS.get(error.code, 200) if error and self._ends_with_connection else 200
                await self._http.respond(status, message, self._headers)

    def _stop(self, reason: ProtocolError) -> None:
        _trace.debug("request ended early", id=self._id, code=reason.code)
        if self._end is None and not self._is_finished and self._task is not None:
            self._end = reason
            self._task.cancel()

    async def _begin_stream(self) -> None:
        if not self.has_stream:
            _trace.debug("response becomes a stream", id=self._id, stream=self.log.name)
            self.has_stream = True
            await self._http.start_stream(self._headers)
            if self._has_priming_event:
                await self._http.send_event(self.log.priming_event(0))

    def _start_beside(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._beside = self._beside or TaskSet(_trace)
        self._beside.start(work())

    async def _send_pings(self) -> None:
        while True:
            async with self._lock:
                await self._begin_stream()
                await self._http.send_event(PING)
            await asyncio.sleep(PING_S)

    async def _watch_connection(self) -> None:
        await self._http.wait_until_gone()
        self._is_gone = True
        self._stop(ProtocolError(CONNECTION_CLOSED, "The client has gone"))


def _start(status: int, headers: Headers) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def _part(body: bytes) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": True}
