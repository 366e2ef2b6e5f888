"""Search bytes of any size in pages. All pages together find each match once.

A page contains the matches that *start* between its start and its end, however long they are. The pattern
sees the whole text: `^` and `\\b` do not match at the border of a page, and a match may cross a border. The
next page begins where this one ends, or where its last match ends.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import field
from threading import Event
from typing import Any, Protocol

from muxpilot.errors import BadInput
from muxpilot.patterns import Finder, FuzzyMatch, compile_finder, compile_likeness, similarity
from muxpilot.records import mutable_record, record

LONGEST_LINE = 4096  # for fuzzy matches; a longer line is skipped and counted
LONGEST_SHOWN = 4096  # bytes of one match in its snippet, and of the context on each side
_MOST_SHOWN = 2_000_000  # bytes in all snippets of a page

_EXACT, _FUZZY = 0, 1


class SearchableBytes(Protocol):
    """The methods that bytes and a mapped file share."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> Any: ...
    def find(self, sub: bytes, start: int, end: int) -> int: ...
    def rfind(self, sub: bytes, start: int, end: int) -> int: ...


class SearchStopped(Exception):
    """The caller no longer waits for the result."""


@record
class SearchQuery:
    """A compiled query, for use on many texts."""

    words: str
    is_literal: bool
    find: Finder
    alike: Callable[[str], FuzzyMatch | None] | None
    with_similarity: bool
    newline: Finder


def compile_query(words: str, mode: str, *, threshold: float | None, with_similarity: bool) -> SearchQuery:
    """Compile a query. Fuzzy mode searches literally as well; `threshold` is the least similarity."""
    exact = "literal" if mode == "fuzzy" else mode
    return SearchQuery(
        words=words,
        is_literal=exact == "literal",
        find=compile_finder(words, exact, "query"),
        alike=compile_likeness(words, threshold, "query") if threshold is not None else None,
        with_similarity=with_similarity or threshold is not None,
        newline=compile_finder("\n", "literal", "query"),
    )


@record
class SearchSpan:
    """Matches must start from `start` up to `until`. `low` and `high` are the ends of the searched text."""

    low: int
    start: int
    until: int
    high: int


@record
class SearchHit:
    """One match, as a range of bytes."""

    start: int
    end: int
    similarity: float | None


@record
class SearchPage:
    """The matches of one page. The next page begins at `next`; `is_cut` means that there were more."""

    hits: list[SearchHit]
    next: int
    is_cut: bool
    skipped_lines: int
    skipped_bytes: int


_Found = tuple[int, int, int, float | None]


def search_page(
    text: SearchableBytes, query: SearchQuery, span: SearchSpan, *, room: int, context: int, stop: Event
) -> SearchPage:
    """Return all matches that start in the span, in order, until `room` is used up."""
    scan = _Scan(text, query, span, _page_end(text, query, span), stop)
    hits: list[SearchHit] = []
    covered, shown = span.start, 0
    resume_at = None
    for start, sort, end, likeness in heapq.merge(scan.exact(), scan.fuzzy()):
        if start < covered:
            continue  # a fuzzy match inside an exact one
        if len(hits) >= room or shown > _MOST_SHOWN:
            resume_at = start
            break
        hits.append(SearchHit(start, end, likeness))
        shown += min(end - start, LONGEST_SHOWN) + 2 * min(context, LONGEST_SHOWN)
        covered = end if sort == _EXACT else covered
    after = resume_at if resume_at is not None else max(scan.until, covered)
    sizes = [size for begin, size in scan.skipped if begin < after]
    return SearchPage(hits, after, resume_at is not None, len(sizes), sum(sizes))


@mutable_record
class _Scan:
    """One pass over one span. `skipped` has the offsets and sizes of lines that are too long to compare."""

    text: SearchableBytes
    query: SearchQuery
    span: SearchSpan
    until: int
    stop: Event
    skipped: list[tuple[int, int]] = field(default_factory=list)

    def exact(self) -> Iterator[_Found]:
        """Yield the exact matches."""
        start = self.span.start
        while start < self.until:
            self._raise_if_stopped()
            found = self.query.find(self.text, start, self.span.high)
            if found is None or found[0] >= self.until:
                return
            begin, end = found
            if begin == end:
                raise BadInput(
                    f"The argument 'query' has a zero-length match, at byte {begin}.",
                    "Use a pattern that cannot match nothing: x+ rather than x*.",
                )
            yield begin, _EXACT, end, self._similarity(begin, end)
            start = end

    def fuzzy(self) -> Iterator[_Found]:
        """Yield the best match of each line that is similar enough."""
        if self.query.alike is None:
            return
        for begin, end in self._lines():
            self._raise_if_stopped()
            if end - begin > LONGEST_LINE:
                if begin >= self.span.start:
                    self.skipped.append((begin, end - begin))
                continue
            line = self.text[begin:end].decode("utf-8", "surrogateescape")
            best = self.query.alike(line)
            if best is not None:
                first, last, similarity = best
                start = begin + _byte_length(line[:first])
                if self.span.start <= start < self.until:
                    yield start, _FUZZY, start + _byte_length(line[first:last]), similarity

    def _lines(self) -> Iterator[tuple[int, int]]:
        """Yield the range of each line that is in the span, fully or in part."""
        before = max(self.span.low, self.span.start - LONGEST_LINE - 1)
        # If no line begins near here, these bytes belong to a line that is too long.
        begin = self.text.rfind(b"\n", before, self.span.start) + 1 or before
        while begin < self.until:
            end = self._line_end(begin)
            yield begin, end
            begin = end + 1

    def _line_end(self, begin: int) -> int:
        near = self.text.find(b"\n", begin, min(self.span.high, begin + LONGEST_LINE + 1))
        if near >= 0:
            return near
        # The line is long: `find` would hold the GIL, so that no other thread could run.
        found = self.query.newline(self.text, begin, self.span.high)
        return found[0] if found is not None else self.span.high

    def _similarity(self, begin: int, end: int) -> float | None:
        if not self.query.with_similarity:
            return None
        if self.query.is_literal:
            return 1.0
        return similarity(self.query.words, decode_range(self.text, begin, min(end, begin + LONGEST_LINE)))

    def _raise_if_stopped(self) -> None:
        if self.stop.is_set():
            raise SearchStopped


def _page_end(text: SearchableBytes, query: SearchQuery, span: SearchSpan) -> int:
    """Return where a page ends: after a character, or for fuzzy matches after a line that is not too long."""
    until = min(span.until, span.high)
    if query.alike is not None and 0 < until < span.high and text[until - 1] != 0x0A:
        near = text.find(b"\n", until, min(span.high, until + LONGEST_LINE))
        if near >= 0:
            return near + 1
        if span.high - until <= LONGEST_LINE:
            return span.high
    return min(character_boundary(text, until, 1), span.high)


def character_boundary(text: SearchableBytes, at: int, step: int) -> int:
    """Return the nearest start of a character in the direction of `step`. Invalid UTF-8 is left as it is."""
    for moved in range(4):
        here = at + moved * step
        if not 0 < here < len(text) or text[here] & 0xC0 != 0x80:
            return min(max(here, 0), len(text))
    return at


def widen_to_characters(text: SearchableBytes, span: SearchSpan) -> SearchSpan:
    """Return the span with its ends moved outwards to whole characters."""
    low, high = character_boundary(text, span.low, -1), character_boundary(text, span.high, 1)
    return SearchSpan(low, low if span.start == span.low else span.start, min(span.until, high), high)


def decode_range(text: SearchableBytes, start: int, end: int) -> str:
    piece: bytes = text[start:end]
    return piece.decode("utf-8", "replace")


def _byte_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
