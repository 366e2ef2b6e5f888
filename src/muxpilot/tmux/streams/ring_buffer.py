"""The newest bytes of a stream, addressed by their absolute offset."""

from __future__ import annotations


class RingBuffer:
    """Keeps at least the last `limit` bytes of a stream, and never more than twice as many."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()
        self.start = 0
        self.newlines_dropped = 0
        self._counted = (0, 0)  # an offset, and the newlines before it: the next count begins there

    @property
    def end(self) -> int:
        return self.start + len(self._data)

    def restart(self, offset: int, newlines: int, *, limit: int | None = None) -> None:
        """Drop everything, and continue at an offset that has this many newlines before it."""
        self._limit = limit or self._limit
        self._data.clear()
        self.start, self.newlines_dropped = offset, newlines

    def append(self, data: bytes) -> None:
        """Add bytes at the end. Drop the oldest once there are more than twice the limit."""
        self._data += data
        if len(self._data) > 2 * self._limit:
            surplus = len(self._data) - self._limit
            self.newlines_dropped += self._data.count(b"\n", 0, surplus)
            del self._data[:surplus]
            self.start += surplus

    def newlines_before(self, offset: int) -> int:
        """Count the newlines between the first byte of the stream and this offset."""
        known, newlines = self._counted
        if not self.start <= known <= offset:
            known, newlines = self.start, self.newlines_dropped
        newlines += self._data.count(b"\n", known - self.start, max(offset - self.start, 0))
        self._counted = max(known, min(offset, self.end)), newlines
        return newlines

    def find_newline(self, offset: int) -> int:
        """Return the offset after the next newline, or the end."""
        found = self._data.find(b"\n", max(offset - self.start, 0))
        return self.end if found < 0 else self.start + found + 1

    def find_newline_before(self, offset: int) -> int:
        """Return the offset after the last newline before this one, or the start."""
        return self.start + self._data.rfind(b"\n", 0, max(offset - self.start, 0)) + 1

    def read(self, offset: int, size: int) -> bytes:
        begin = max(offset - self.start, 0)
        return bytes(self._data[begin : begin + size])
