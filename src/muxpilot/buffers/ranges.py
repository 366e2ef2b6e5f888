"""Which part of a buffer a call wants searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from muxpilot.buffers.search import Span
from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.toolkit.argument_types import Between

LARGEST = 2**53 - 1
_THRESHOLD = 0.8
_CHARACTER = 4  # bytes at most: a window is widened to whole ones


@record
class Anchor:
    """The place of an earlier match."""

    offset_bytes: Annotated[int, Between(0, LARGEST)]
    match_len: Annotated[int, Between(0, LARGEST)]
    buffer: str | None = None


def threshold(wanted: float | None, *, is_fuzzy: bool) -> float | None:
    """How alike is alike; none where only exact matches count. Naming one asks for likeness."""
    if wanted is None:
        return _THRESHOLD if is_fuzzy else None
    return min(1.0, max(0.0, wanted))


def starts(resume: Mapping[str, int], names: Sequence[str]) -> Mapping[str, int]:
    for name in resume:
        if name not in names:
            raise BadInput(
                f"The argument 'resumeFromOffset' references unknown buffer {name[:100]!r}.",
                "Its names must be among the buffers that are searched.",
            )
    return resume


def one_page(name: str, start: int, most: int, size: int) -> Span:
    """From where the last call ended, as much as this one may search."""
    if start > size:
        raise BadInput(
            f"The argument 'resumeFromOffset' is {start}, which exceeds buffer {name!r} length {size}.",
            "Use the offset that the last answer told.",
        )
    return Span(0, start, min(start + most, size), size)


def around(anchor: Anchor, reach: int, resume: int | None, size: int) -> Span:
    """What lies near an earlier match, which is all there is to see."""
    end = anchor.offset_bytes + anchor.match_len
    if end > size:
        raise BadInput(
            f"The argument 'anchor' ends at byte {end}, which exceeds the buffer's length {size}.",
            "Use a match of an earlier answer; the buffer may have changed since.",
        )
    low, high = max(anchor.offset_bytes - reach, 0), min(end + reach, size)
    start = low if resume is None else resume
    if not low - _CHARACTER < start < high + _CHARACTER:
        raise BadInput(
            f"The argument 'resumeFromOffset' is outside the anchor window from {low} to {high}.",
            "Use the offset that the last answer told.",
        )
    return Span(low, start, high, high)
