"""The part of a buffer that a call searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muxpilot.buffers.search import SearchSpan
from muxpilot.errors import BadInput

LARGEST = 2**53 - 1
_DEFAULT_THRESHOLD = 0.8
_LONGEST_CHARACTER = 4  # bytes in UTF-8; spans are widened to whole characters


def similarity_threshold(wanted: float | None, *, is_fuzzy: bool) -> float | None:
    """Return the least similarity of a fuzzy match, or None if only exact matches count."""
    if wanted is None:
        return _DEFAULT_THRESHOLD if is_fuzzy else None
    return min(1.0, max(0.0, wanted))


def check_resume_offsets(resume: Mapping[str, int], names: Sequence[str]) -> Mapping[str, int]:
    """Raise BadInput if an offset is given for a buffer that is not searched."""
    for name in resume:
        if name not in names:
            raise BadInput(
                f"The argument 'resumeFromOffset' references unknown buffer {name[:100]!r}.",
                "Its names must be among the buffers that are searched.",
            )
    return resume


def next_span(name: str, start: int, most: int, size: int) -> SearchSpan:
    """Return the span from where the last call ended, of at most `most` bytes."""
    if start > size:
        raise BadInput(
            f"The argument 'resumeFromOffset' is {start}, which exceeds buffer {name!r} length {size}.",
            "Use the offset of the last answer.",
        )
    return SearchSpan(0, start, min(start + most, size), size)


def span_around_match(offset: int, length: int, reach: int, resume: int | None, size: int) -> SearchSpan:
    """Return the span around an earlier match. Nothing outside of it is searched or shown."""
    end = offset + length
    if end > size:
        raise BadInput(
            f"The argument 'anchor' ends at byte {end}, which exceeds the buffer's length {size}.",
            "Use a match of an earlier answer; the buffer may have changed since.",
        )
    low, high = max(offset - reach, 0), min(end + reach, size)
    start = low if resume is None else resume
    if not low - _LONGEST_CHARACTER < start < high + _LONGEST_CHARACTER:
        raise BadInput(
            f"The argument 'resumeFromOffset' is outside the anchor window from {low} to {high}.",
            "Use the offset of the last answer.",
        )
    return SearchSpan(low, start, high, high)
