"""The events of one stream over HTTP: numbered, and kept for a client that resumes the stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from muxpilot.tasks import ChangeSignal

MOST_EVENTS = 1000
MOST_BYTES = 4 << 20

PING = b": ping\n\n"


class EventLog:
    """The newest events of a stream. An event's id is the stream's name and the event's number."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.changes = ChangeSignal()
        self.is_ended = False
        # The last event that was sent to a client. A client that opens the stream gets those after it.
        self.last_sent = 0
        self._last = 0
        self._size = 0
        self._events: deque[tuple[int, bytes]] = deque()

    @property
    def last(self) -> int:
        return self._last

    @property
    def oldest(self) -> int:
        """Return the number of the oldest event that is kept, or the next number if none is."""
        return self._events[0][0] if self._events else self._last + 1

    def add(self, message: bytes) -> bytes:
        """Keep a message as the next event, and return that event."""
        self._last += 1
        event = b"id: %s-%d\nevent: message\ndata: %s\n\n" % (self.name.encode(), self._last, message)
        self._events.append((self._last, event))
        self._size += len(event)
        while len(self._events) > MOST_EVENTS or (self._size > MOST_BYTES and len(self._events) > 1):
            self._size -= len(self._events.popleft()[1])
        self.changes.notify()
        return event

    def end(self) -> None:
        """Note that no more events come."""
        self.is_ended = True
        self.changes.notify()

    def after(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield the events after one."""
        return (row for row in tuple(self._events) if row[0] > number)

    def priming_event(self, number: int) -> bytes:
        """Return an event without data, from which a client can resume before anything has happened."""
        return b"id: %s-%d\ndata: \n\n" % (self.name.encode(), number)


def parse_event_id(identity: bytes | None) -> tuple[str, int] | None:
    """Return the stream and the number of an event id, or None for an id that is not ours."""
    name, _, number = (identity or b"").decode("latin-1").rpartition("-")
    return (name, int(number)) if name and number.isascii() and number.isdigit() else None
