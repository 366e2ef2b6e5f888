"""Patterns that callers write: RE2, which no pattern can stall, and fuzzy matches by rapidfuzz.

No other module imports these libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from muxpilot.errors import BadInput

# The time of a fuzzy match grows with the square of the query's length.
LONGEST_FUZZY = 500
# At worst RE2 needs one second for a megabyte and a thousand of its instructions, and it cannot be stopped.
_LARGEST_PROGRAM = 3000
_FIRST_CHUNK, _LARGEST_CHUNK = 1 << 12, 1 << 20

# The start and end of a match in a line, in characters, and its similarity from 0 to 1.
FuzzyMatch = tuple[int, int, float]
# Returns the first match at or after `start`, in a text that ends at `end`.
Finder = Callable[[Any, int, int], tuple[int, int] | None]


def compile_matcher(pattern: str, mode: str, argument: str) -> Callable[[str], bool]:
    """Return a function that says whether a line contains the pattern. Errors name `argument`."""
    _require_pattern(pattern, argument)
    if mode == "literal":
        return lambda line: pattern in line
    search = compile_regex(pattern, argument).search
    return lambda line: search(line) is not None


def compile_finder(pattern: str, mode: str, argument: str) -> Finder:
    """Return a finder for texts of any size. It lets other threads run, and no pattern makes it slow."""
    _require_pattern(pattern, argument)
    if mode == "literal":
        return _literal_finder(pattern.encode())
    regex = compile_regex(pattern, argument)
    if regex.programsize > _LARGEST_PROGRAM:
        raise BadInput(
            f"The argument {argument!r} is too large a pattern for a buffer.",
            "Use smaller counted repetitions, such as .{0,100}.",
        )

    def find(text: Any, start: int, end: int) -> tuple[int, int] | None:
        found = regex.search(text, start, end)
        return found.span() if found is not None else None

    return find


def _literal_finder(words: bytes) -> Finder:
    """Return a finder that works in chunks, so that other threads run. RE2 is slow for long literals."""

    def find(text: Any, start: int, end: int) -> tuple[int, int] | None:
        """Find the first match, in chunks that grow."""
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


def compile_regex(pattern: str, argument: str, *, item: str | None = None) -> Any:
    """Compile an RE2 pattern. Raise BadInput for a bad one, which names `argument` and the item in it."""
    import re2  # loaded when first used: few calls need it

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        words = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        what = (
            f"{argument!r} is not"
            if item is None
            else f"{argument!r} has '{_on_one_line(item)}', which is not"
        )
        raise BadInput(
            f"The argument {what} a regular expression: {_on_one_line(words)}.", "Use RE2 syntax."
        ) from None


def compile_likeness(query: str, threshold: float, argument: str) -> Callable[[str], FuzzyMatch | None]:
    """Return a function that finds the part of a line that is most similar to the query."""
    from rapidfuzz import fuzz

    if len(query) > LONGEST_FUZZY:
        raise BadInput(
            f"The argument {argument!r} is longer than {LONGEST_FUZZY} characters.",
            "Use a shorter one, or leave out fuzzyMatch.",
        )
    least = threshold * 100

    def find_best(line: str) -> FuzzyMatch | None:
        """Find the best part of a line. It has the length of the query, or is the whole line."""
        if len(line) <= len(query):  # rapidfuzz would look for a shorter line inside the query
            score = fuzz.ratio(query, line, score_cutoff=least)
            return (0, len(line), score / 100) if line and score >= least else None
        found = fuzz.partial_ratio_alignment(query, line, score_cutoff=least)
        if found is None or found.score < least or found.dest_start == found.dest_end:
            return None
        return found.dest_start, found.dest_end, found.score / 100

    return find_best


def similarity(one: str, other: str) -> float:
    """Return how similar two texts are, from 0 to 1."""
    from rapidfuzz import fuzz

    return fuzz.ratio(one, other) / 100


def _on_one_line(text: str) -> str:
    """Return a text as it was written, but with controls and the like as escapes."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _require_pattern(pattern: str, argument: str) -> None:
    if not pattern:
        raise BadInput(f"The argument {argument!r} is empty.", "Give something to find.")
