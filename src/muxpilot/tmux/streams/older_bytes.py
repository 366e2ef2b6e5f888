"""The bytes of a stream that only its journal still holds, addressed by their absolute offset."""

from __future__ import annotations

from muxpilot.journal.segments import SegmentFiles

_CHUNK_BYTES = 1 << 16


class OlderBytes:
    """Reads the files of a journal. `end` is the offset up to which the stream came from them."""

    def __init__(self, files: SegmentFiles) -> None:
        self._files = files
        self.end = 0

    @property
    def start(self) -> int:
        """Return the oldest offset that the files hold."""
        found = self._files.start
        return found if found is not None else self.end

    def reaches(self, offset: int) -> bool:
        """Return whether the files hold what comes before this offset."""
        return self.start < offset <= self.end

    def read_piece(self, start: int, end: int) -> bytes:
        """Return bytes from `start` on, up to `end` or the next missing byte."""
        return self._files.read(start, end)

    def read(self, start: int, end: int) -> bytes:
        """Return those of these bytes that the files hold."""
        pieces, at = [], max(start, self.start)
        while at < end:
            piece = self._files.read(at, end)
            pieces.append(piece)
            at = at + len(piece) if piece else self.next_offset(at) or end
        return b"".join(pieces)

    def next_offset(self, offset: int) -> int | None:
        """Return the offset of the first segment after this offset."""
        return next((found.offset for found in self._files.segments if found.offset > offset), None)

    def newlines_before(self, offset: int) -> int:
        """Count the newlines between the first byte of the stream and this offset."""
        return self._files.newlines_before(offset)

    def written_at(self, offset: int) -> float | None:
        """Return when the byte before an offset was written, at the latest: seconds since the epoch."""
        return self._files.written_at(offset)

    def line_start(self, offset: int) -> int:
        """Return the offset after the last newline before this one, or the start."""
        while offset > self.start:
            begin = max(offset - _CHUNK_BYTES, self.start)
            found = self._files.read(begin, offset).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            offset = begin
        return self.start

    def next_line(self, offset: int, limit: int) -> int | None:
        """Return the offset after the next newline, or None if there is none before `limit`."""
        while offset < limit:
            data = self._files.read(offset, min(offset + _CHUNK_BYTES, limit))
            found = data.find(b"\n")
            if found >= 0:
                return offset + found + 1
            offset = offset + len(data) if data else self.next_offset(offset) or limit
        return None
