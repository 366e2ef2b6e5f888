"""Searching bytes of any size in pages that together find each match once.

A page owns what *starts* between its start and its end, however far that reaches, and every match is
found in the light of the whole text: page borders are seen neither by `^` and `\\b` nor by a match that
lies across one. The next page begins where this one ends, or where its last match does.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Protocol

from muxpilot.errors import BadInput
from muxpilot.patterns import Finder, Likeness, finder, likeness, ratio
from muxpilot.records import record

LONGEST_LINE = 4096  # for likeness; a longer one is skipped and counted
LONGEST_SHOWN = 4096  # of one match in its snippet, and of what stands on each side of it
_MOST_SHOWN = 2_000_000  # in all snippets of a page

_EXACT, _FUZZY = 0, 1


class Text(Protocol):
    """What bytes and a mapped file have in common."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> Any: ...
    def find(self, sub: bytes, start: int, end: int) -> int: ...
    def rfind(self, sub: bytes, start: int, end: int) -> int: ...


class Stopped(Exception):
    """Nobody waits for the result any more."""


@record
class Query:
    """What to look for, ready to be used on many texts."""

    words: str
    is_literal: bool
    find: Finder
    alike: Callable[[str], Likeness | None] | None
    with_similarity: bool
    newline: Finder


def query(words: str, mode: str, *, threshold: float | None, with_similarity: bool) -> Query:
    """What is fuzzy is literal too: its likeness comes with the threshold."""
    exact = "literal" if mode == "fuzzy" else mode
    return Query(
        words=words,
        is_literal=exact == "literal",
        find=finder(words, exact, "query"),
        alike=likeness(words, threshold, "query") if threshold is not None else None,
        with_similarity=with_similarity or threshold is not None,
        newline=finder("\n", "literal", "query"),
    )


@record
class Span:
    """From `start` to `until` matches are wanted; `low` and `high` are the ends of the text for it."""

    low: int
    start: int
    until: int
    high: int


@record
class Hit:
    start: int
    end: int
    similarity: float | None


@record
class Page:
    hits: list[Hit]
    next: int
    is_cut: bool
    skipped_lines: int
    skipped_bytes: int


_Found = tuple[int, int, int, float | None]


def page(text: Text, asked: Query, span: Span, *, room: int, context: int, stop: Event) -> Page:
    """Everything that starts in the span, in order, until there is no room for more."""
    scan = _Scan(text, asked, span, _until(text, asked, span), stop)
    hits: list[Hit] = []
    covered, shown = span.start, 0
    goes_on_at = None
    for start, kind, end, similarity in heapq.merge(scan.exact(), scan.fuzzy()):
        if start < covered:
            continue  # alike, but inside what was found exactly
        if len(hits) >= room or shown > _MOST_SHOWN:
            goes_on_at = start
            break
        hits.append(Hit(start, end, similarity))
        shown += min(end - start, LONGEST_SHOWN) + 2 * min(context, LONGEST_SHOWN)
        covered = end if kind == _EXACT else covered
    after = goes_on_at if goes_on_at is not None else max(scan.until, covered)
    sizes = [size for begin, size in scan.skipped if begin < after]
    return Page(hits, after, goes_on_at is not None, len(sizes), sum(sizes))


@dataclass(slots=True)
class _Scan:
    """One pass over one span; `skipped` are the lines too long to compare, with their sizes."""

    text: Text
    asked: Query
    span: Span
    until: int
    stop: Event
    skipped: list[tuple[int, int]] = field(default_factory=list)

    def exact(self) -> Iterator[_Found]:
        start = self.span.start
        while start < self.until:
            self._go_on()
            found = self.asked.find(self.text, start, self.span.high)
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
        """One hit in each line that is alike; it belongs to the page in which it starts."""
        if self.asked.alike is None:
            return
        for begin, end in self._lines():
            self._go_on()
            if end - begin > LONGEST_LINE:
                if begin >= self.span.start:
                    self.skipped.append((begin, end - begin))
                continue
            line = self.text[begin:end].decode("utf-8", "surrogateescape")
            best = self.asked.alike(line)
            if best is not None:
                first, last, similarity = best
                start = begin + _bytes(line[:first])
                if self.span.start <= start < self.until:
                    yield start, _FUZZY, start + _bytes(line[first:last]), similarity

    def _lines(self) -> Iterator[tuple[int, int]]:
        """Each line that reaches into the span, as far as it lies in the text."""
        before = max(self.span.low, self.span.start - LONGEST_LINE - 1)
        # Where no line begins near here, what stands here belongs to one that is too long.
        begin = self.text.rfind(b"\n", before, self.span.start) + 1 or before
        while begin < self.until:
            end = self._line_end(begin)
            yield begin, end
            begin = end + 1

    def _line_end(self, begin: int) -> int:
        near = self.text.find(b"\n", begin, min(self.span.high, begin + LONGEST_LINE + 1))
        if near >= 0:
            return near
        # Far, and `find` would keep every other thread waiting.
        found = self.asked.newline(self.text, begin, self.span.high)
        return found[0] if found is not None else self.span.high

    def _similarity(self, begin: int, end: int) -> float | None:
        if not self.asked.with_similarity:
            return None
        if self.asked.is_literal:
            return 1.0
        return ratio(self.asked.words, decoded(self.text, begin, min(end, begin + LONGEST_LINE)))

    def _go_on(self) -> None:
        if self.stop.is_set():
            raise Stopped


def _until(text: Text, asked: Query, span: Span) -> int:
    """A page ends at a whole character; where lines are compared, at a whole line if it is no long one."""
    until = min(span.until, span.high)
    if asked.alike is not None and 0 < until < span.high and text[until - 1] != 0x0A:
        near = text.find(b"\n", until, min(span.high, until + LONGEST_LINE))
        if near >= 0:
            return near + 1
        if span.high - until <= LONGEST_LINE:
            return span.high
    return min(character(text, until, 1), span.high)


def character(text: Text, at: int, step: int) -> int:
    """The nearest beginning of a character, that way; bytes that are no UTF-8 are taken as they are."""
    for moved in range(4):
        here = at + moved * step
        if not 0 < here < len(text) or text[here] & 0xC0 != 0x80:
            return min(max(here, 0), len(text))
    return at


def in_whole_characters(text: Text, span: Span) -> Span:
    low, high = character(text, span.low, -1), character(text, span.high, 1)
    return Span(low, low if span.start == span.low else span.start, min(span.until, high), high)


def decoded(text: Text, start: int, end: int) -> str:
    piece: bytes = text[start:end]
    return piece.decode("utf-8", "replace")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
