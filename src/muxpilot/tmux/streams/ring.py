"""A byte stream's memory: the newest bytes, by absolute offset."""

from __future__ import annotations


class Ring:
    """Keeps at least the last `limit` bytes, and never more than twice as many."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()
        self.start = 0

    @property
    def end(self) -> int:
        return self.start + len(self._data)

    def append(self, data: bytes) -> None:
        self._data += data
        if len(self._data) > 2 * self._limit:
            surplus = len(self._data) - self._limit
            del self._data[:surplus]
            self.start += surplus

    def read(self, offset: int, size: int) -> bytes:
        begin = max(offset - self.start, 0)
        return bytes(self._data[begin : begin + size])
