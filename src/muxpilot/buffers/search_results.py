"""The answer of a search over buffers, put together one buffer at a time."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import BinaryIO

from muxpilot.buffers.search import (
    LONGEST_SHOWN,
    Hit,
    Page,
    Query,
    Span,
    Text,
    character,
    decoded,
    in_whole_characters,
    page,
)
from muxpilot.records import record

_DIGITS = 4


@record
class BufferMatch:
    match_id: str
    buffer: str
    offset_bytes: int
    match_len: int
    context_start: int
    context_end: int
    snippet: str
    similarity: float | None


@record
class BufferMatches:
    query: str
    mode: str
    context_bytes: int
    max_matches: int
    include_similarity: bool
    fuzzy_match: bool
    similarity_threshold: float | None
    buffers: list[str]
    total_matches: int
    buffers_scanned: int
    bytes_scanned_total: int
    truncated_buffers: list[str]
    resume_from_offset: dict[str, int]
    matches: list[BufferMatch]
    max_similarity: float | None
    avg_similarity: float | None
    fuzzy_skipped_lines: int
    fuzzy_skipped_bytes: int


@dataclass(slots=True)
class Search:
    """One request: what is wanted, and what was found so far."""

    asked: Query
    threshold: float | None
    context: int
    most: int
    matches: list[BufferMatch] = field(default_factory=list)
    scanned: list[int] = field(default_factory=list)
    goes_on_at: dict[str, int] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)

    @property
    def has_room(self) -> bool:
        return len(self.matches) < self.most

    def put_off(self, buffer: str, start: int) -> None:
        """There is no room left for what this buffer may hold."""
        self.goes_on_at[buffer] = start
        self.unfinished.append(buffer)

    def look(self, buffer: str, file: BinaryIO, span_in: Callable[[int], Span], stop: Event) -> None:
        """Search one span of a buffer in place; `span_in` says which, once its size is known."""
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            span = in_whole_characters(text, span_in(len(text)))
            room = self.most - len(self.matches)
            found = page(text, self.asked, span, room=room, context=self.context, stop=stop)
            self.matches += [self._match(buffer, text, span, hit) for hit in found.hits]
        self.pages.append(found)
        self.scanned.append(max(found.next - span.start, 0))
        self.goes_on_at[buffer] = found.next
        if found.next < span.high:
            self.unfinished.append(buffer)

    def _match(self, buffer: str, text: Text, span: Span, hit: Hit) -> BufferMatch:
        """A match that is very long is shown by its beginning."""
        length, beside = hit.end - hit.start, min(self.context, LONGEST_SHOWN)
        end = hit.end + beside if length <= LONGEST_SHOWN else hit.start + LONGEST_SHOWN
        first = max(character(text, max(hit.start - beside, 0), -1), span.low)
        last = min(character(text, min(end, len(text)), 1), max(span.high, hit.end))
        return BufferMatch(
            match_id=f"{buffer}:{hit.start}",
            buffer=buffer,
            offset_bytes=hit.start,
            match_len=length,
            context_start=first,
            context_end=last,
            snippet=decoded(text, first, last),
            similarity=None if hit.similarity is None else round(hit.similarity, _DIGITS),
        )

    def answer(self, buffers: Sequence[str], mode: str) -> BufferMatches:
        alike = [row.similarity for row in self.matches if row.similarity is not None]
        return BufferMatches(
            query=self.asked.words,
            mode=mode,
            context_bytes=self.context,
            max_matches=self.most,
            include_similarity=self.asked.with_similarity,
            fuzzy_match=self.asked.alike is not None,
            similarity_threshold=self.threshold,
            buffers=list(buffers),
            total_matches=len(self.matches),
            buffers_scanned=len(self.scanned),
            bytes_scanned_total=sum(self.scanned),
            truncated_buffers=self.unfinished,
            resume_from_offset=self.goes_on_at,
            matches=self.matches,
            max_similarity=max(alike, default=None),
            avg_similarity=round(sum(alike) / len(alike), _DIGITS) if alike else None,
            fuzzy_skipped_lines=sum(row.skipped_lines for row in self.pages),
            fuzzy_skipped_bytes=sum(row.skipped_bytes for row in self.pages),
        )
