"""Numbers in records that another program may have changed: JSON allows numbers that nothing here can use."""

from __future__ import annotations

import math

# Nanoseconds of 292 years, and more bytes than a journal can have.
_LARGEST = 1 << 63
# What the parts that take a record catch: a record whose fields are damaged is left out.
DAMAGES = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


def read_whole(value: object, *, most: int = _LARGEST) -> int:
    """Return a whole number from 0 on, or raise ValueError."""
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError("a number is out of range")
    return value


def read_seconds(value: object, *, most: float) -> float:
    """Return a time from 0 on, or raise ValueError."""
    if type(value) not in (int, float):
        raise ValueError("a time is not a number")
    seconds = float(value)  # type: ignore[arg-type]
    if not math.isfinite(seconds) or not 0 <= seconds <= most:
        raise ValueError("a time is out of range")
    return seconds
