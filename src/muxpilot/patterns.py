"""Patterns that users write: RE2, which no pattern can stall, and likeness. The only importer of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from muxpilot.errors import BadInput

# Words that resemble take time that grows with their length squared.
LONGEST_FUZZY = 500
# At worst RE2 takes a second for a megabyte and a thousand of its instructions, and cannot be stopped.
_LARGEST_PROGRAM = 3000
_FIRST_CHUNK, _LARGEST_CHUNK = 1 << 12, 1 << 20

# Where in a line, in characters, and how alike, from 0 to 1.
Likeness = tuple[int, int, float]
# Where the first match at or after `start` is, in a text that ends at `end`.
Finder = Callable[[Any, int, int], tuple[int, int] | None]


def matcher(pattern: str, mode: str, argument: str) -> Callable[[str], bool]:
    """Whether a line holds the pattern; `argument` is what a bad one is called in the error."""
    _require_some(pattern, argument)
    if mode == "literal":
        return lambda line: pattern in line
    search = compiled(pattern, argument).search
    return lambda line: search(line) is not None


def finder(pattern: str, mode: str, argument: str) -> Finder:
    """For texts of any size: other threads run meanwhile, and no query makes it slow."""
    _require_some(pattern, argument)
    if mode == "literal":
        return _literal(pattern.encode())
    ready = compiled(pattern, argument)
    if ready.programsize > _LARGEST_PROGRAM:
        raise BadInput(
            f"The argument {argument!r} is too large a pattern for a buffer.",
            "Use smaller counted repetitions, such as .{0,100}.",
        )

    def find(text: Any, start: int, end: int) -> tuple[int, int] | None:
        found = ready.search(text, start, end)
        return found.span() if found is not None else None

    return find


def _literal(words: bytes) -> Finder:
    """Not by RE2, which is slow for a long literal; piece by piece, so that others run in between."""

    def find(text: Any, start: int, end: int) -> tuple[int, int] | None:
        chunk = _FIRST_CHUNK
        while start + len(words) <= end:
            stop = min(end, start + chunk + len(words) - 1)
            at = text[start:stop].find(words)
            if at >= 0:
                return start + at, start + at + len(words)
            start = stop - len(words) + 1
            chunk = min(chunk * 4, _LARGEST_CHUNK)
        return None

    return find


def compiled(pattern: str, argument: str) -> Any:
    import re2  # loaded when first used: few calls need it

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        words = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise BadInput(
            f"The argument {argument!r} is not a regular expression: {words}.", "Use RE2 syntax."
        ) from None


def likeness(query: str, threshold: float, argument: str) -> Callable[[str], Likeness | None]:
    """Where a line is most like the query, if it is at least that much: the best part of equal length."""
    from rapidfuzz import fuzz

    if len(query) > LONGEST_FUZZY:
        raise BadInput(
            f"The argument {argument!r} is longer than {LONGEST_FUZZY} characters.",
            "Look for less, or without fuzzyMatch.",
        )
    least = threshold * 100

    def best(line: str) -> Likeness | None:
        if len(line) <= len(query):  # of a shorter line rapidfuzz would look for it in the query
            score = fuzz.ratio(query, line, score_cutoff=least)
            return (0, len(line), score / 100) if line and score >= least else None
        found = fuzz.partial_ratio_alignment(query, line, score_cutoff=least)
        if found is None or found.score < least or found.dest_start == found.dest_end:
            return None
        return found.dest_start, found.dest_end, found.score / 100

    return best


def ratio(one: str, other: str) -> float:
    """How alike two texts are, from 0 to 1."""
    from rapidfuzz import fuzz

    return fuzz.ratio(one, other) / 100


def _require_some(pattern: str, argument: str) -> None:
    if not pattern:
        raise BadInput(f"The argument {argument!r} is empty.", "Give something to look for.")
