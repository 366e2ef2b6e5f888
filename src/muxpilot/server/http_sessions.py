"""The sessions of HTTP clients that began with a handshake, and how the end of such a client is noticed.

A client that has gone had a stream for notifications, which has closed, and it neither opens another nor
sends a request for a while. Then its session ends as if the client had ended it. If a client never opens a
stream, its end cannot be noticed: such a session ends after hours, or when there are too many sessions and it
was idle longest.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from muxpilot.protocol.rpc_errors import INTERNAL_ERROR, ProtocolError
from muxpilot.server.client_connection import ClientConnection
from muxpilot.server.event_log import EventLog, parse_event_id
from muxpilot.server.http_exchange import Headers, HttpCall
from muxpilot.tasks import TaskSet
from muxpilot.trace import Trace, area
from muxpilot.watch.registry import WatchRegistry

ABSENT_S = 60.0
IDLE_S = 8 * 3600.0
MOST_SESSIONS = 1000
_MOST_BUSY = 100  # sessions above the limit, while all others are in use
_KEPT_STREAMS = 32  # of answered requests, for a client that lost its connection before the answer

SESSION_HEADER = b"mcp-session-id"
# The name of the stream that belongs to no request.
_UNASKED = "n"

_trace = area("server").child(transport="http")


class HttpSession:
    """One client's session: its connection, its requests that run, and its streams of events."""

    def __init__(self, watches: WatchRegistry, id_prefix: str = "") -> None:
        self.id = f"{id_prefix}{secrets.token_hex(16)}"
        self.trace: Trace = _trace.child(session=self.id[:6])
        self.headers: Headers = [(SESSION_HEADER, self.id.encode())]
        self.connection = ClientConnection(self._deliver, watches)
        self.unasked = EventLog(_UNASKED)
        self.calls: dict[str, HttpCall] = {}
        # The HTTP request that now carries the stream of notifications.
        self.carrier: object | None = None
        self.requests = 0
        self.had_stream = False
        self.idle_timer: asyncio.TimerHandle | None = None
        self._streams: dict[str, EventLog] = {}
        self._number = 0

    def open_stream(self) -> EventLog:
        """Return a log for the events of a request. Only those that were used are kept."""
        self._number += 1
        return EventLog(str(self._number))

    def keep_stream(self, log: EventLog) -> None:
        """Keep a request's events for a client that resumes them, and drop the oldest answered ones."""
        self._streams[log.name] = log
        ended = [name for name, each in self._streams.items() if each.is_ended]
        for name in ended[:-_KEPT_STREAMS]:
            del self._streams[name]

    def find_stream(self, event_id: bytes | None) -> tuple[EventLog, int]:
        """Return the stream that a client opens or resumes, and the last event that it has."""
        parsed = parse_event_id(event_id)
        name, number = parsed or (_UNASKED, self.unasked.last_sent)
        call = next((each for each in self.calls.values() if each.log.name == name), None)
        log = self.unasked if name == _UNASKED else (call.log if call else self._streams.get(name))
        if log is None:
            return self.unasked, self.unasked.last_sent
        if number + 1 < log.oldest:
            self.trace.warning("events are lost for a client that resumes", lost=log.oldest - number - 1)
        return log, min(number, log.last)

    async def close(self) -> None:
        """End the requests, streams, subscriptions and watches of the session."""
        for call in tuple(self.calls.values()):
            call.end()
        self.unasked.end()
        if self.idle_timer is not None:
            self.idle_timer.cancel()
        await self.connection.close()

    async def _deliver(self, message: bytes) -> None:
        self.unasked.add(message)


class HttpSessions:
    """All sessions, in the order of their last use, the oldest first. Their ids begin with the prefix."""

    def __init__(self, watches: WatchRegistry, *, absent_s: float, most: int, id_prefix: str = "") -> None:
        self._watches = watches
        self._id_prefix = id_prefix
        self._absent_s = absent_s
        self._most = most
        self._sessions: dict[bytes, HttpSession] = {}
        self._ending = TaskSet(_trace)

    def find(self, identity: bytes) -> HttpSession | None:
        return self._sessions.get(identity)

    def create(self) -> HttpSession:
        """Return a new session that is not yet known to `find`."""
        return HttpSession(self._watches, self._id_prefix)

    async def add(self, session: HttpSession) -> None:
        """Keep a session whose handshake is done. Make room for it, or raise ProtocolError."""
        if len(self._sessions) >= self._most:
            idle = next((each for each in self._sessions.values() if each.requests == 0), None)
            if idle is not None:
                await self.end(idle)
            elif len(self._sessions) >= self._most + _MOST_BUSY:
                raise ProtocolError(INTERNAL_ERROR, "Too many open sessions")
        self._sessions[session.id.encode()] = session
        session.trace.info("session opened", sessions=len(self._sessions))

    @contextmanager
    def count_request(self, session: HttpSession, *, is_stream: bool = False) -> Iterator[None]:
        """Count a request of a session while it runs; an open stream is one of them."""
        session.requests += 1
        session.had_stream |= is_stream
        if session.idle_timer is not None:
            session.idle_timer.cancel()
            session.idle_timer = None
        try:
            yield
        finally:
            session.requests -= 1
            if session.requests == 0:
                self._start_idle_timer(session)

    async def end(self, session: HttpSession) -> None:
        """Forget a session, and end all that belongs to it."""
        if self._sessions.pop(session.id.encode(), None) is not None:
            session.trace.info("session ended", sessions=len(self._sessions))
            await session.close()

    async def end_all(self) -> None:
        await asyncio.gather(*(self.end(session) for session in tuple(self._sessions.values())))

    def _start_idle_timer(self, session: HttpSession) -> None:
        key = session.id.encode()
        if self._sessions.pop(key, None) is None:
            return
        self._sessions[key] = session
        after_s = self._absent_s if session.had_stream else IDLE_S
        loop = asyncio.get_running_loop()
        session.idle_timer = loop.call_later(after_s, self._end_after_absence, session)

    def _end_after_absence(self, session: HttpSession) -> None:
        self._ending.start(self.end(session))
