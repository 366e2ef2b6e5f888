"""Text without what hides a secret in it: escape sequences, and the ends of rows that were wrapped."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from muxpilot.redaction.private_keys import Span
from muxpilot.terminal.escapes import UNSEEN_BYTES
from muxpilot.terminal.width import cell_width

_HIDDEN = re.compile(UNSEEN_BYTES)
_CONTROLS = bytes(code for code in (*range(0x20), 0x7F) if code not in b"\t\n")
_NARROWEST = 20


class TextView:
    """Bytes without some ranges, and the way from a place in it to the place in the whole."""

    def __init__(self, whole: bytes, removed: Sequence[Span]) -> None:
        self.data = whole
        self._starts: list[int] = [0]  # where each kept piece begins in the view
        self._places: list[int] = [0]  # and in the whole
        if not removed:
            return
        pieces, at, size = [], 0, 0
        self._starts, self._places = [], []
        for start, end in [*removed, (len(whole), len(whole))]:
            if start > at:
                pieces.append(whole[at:start])
                self._starts.append(size)
                self._places.append(at)
                size += start - at
            at = max(at, end)
        self.data = b"".join(pieces)

    def to_whole(self, span: Span) -> Span:
        """Return the range of the whole that a range of the view is in."""
        return self._place(span[0]), self._place(span[1] - 1) + 1

    def _place(self, at: int) -> int:
        index = bisect_right(self._starts, at) - 1
        return self._places[index] + at - self._starts[index]


def find_hidden(data: bytes) -> list[Span]:
    """Return the ranges of escape sequences and control characters."""
    if len(data.translate(None, _CONTROLS)) == len(data):  # far faster than the pattern
        return []
    return [found.span() for found in _HIDDEN.finditer(data)]


def find_wraps(data: bytes, columns: int | None, hidden: Sequence[Span]) -> list[Span]:
    """Return the line ends after rows as wide as the pane, or without `columns` as the widest row."""
    ends = [found.start() for found in re.finditer(rb"\n", data)]
    if not ends:
        return []
    widths = list(_row_widths(data, hidden))
    widest = max(widths) if columns is None else columns
    if widest < _NARROWEST and columns is None:
        return []
    return [(end, end + 1) for end, width in zip(ends, widths, strict=False) if width == widest]


def _row_widths(data: bytes, hidden: Sequence[Span]) -> Iterator[int]:
    """Yield the width of each row without the blanks at its end."""
    shown = TextView(data, hidden).data
    for row in shown.split(b"\n"):
        text = row.rstrip(b" ").decode("utf-8", "replace")
        yield len(text) if text.isascii() else sum(map(cell_width, text))
