"""The answer of a search over buffers, built one buffer at a time."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from dataclasses import field
from threading import Event
from typing import BinaryIO, Protocol

from muxpilot.buffers.search import (
    LONGEST_SHOWN,
    SearchableBytes,
    SearchHit,
    SearchPage,
    SearchQuery,
    SearchSpan,
    character_boundary,
    decode_range,
    search_page,
    widen_to_characters,
)
from muxpilot.records import mutable_record, record

_DIGITS = 4
# Bytes before and after a part of a buffer that are searched for secrets with it.
MARGIN = 1 << 13


class TextRedactor(Protocol):
    """Takes secrets out of text."""

    def has_secret(self, text: str, start: int, end: int) -> bool:
        """Return whether a secret is in a range of the text's bytes."""

    def redact_part(self, before: str, text: str, after: str) -> str:
        """Return a part of a longer text without secrets."""


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


@mutable_record
class BufferSearch:
    """One search over several buffers, with the matches found so far."""

    asked: SearchQuery
    threshold: float | None
    context: int
    most: int
    redactor: TextRedactor | None = None
    matches: list[BufferMatch] = field(default_factory=list)
    scanned: list[int] = field(default_factory=list)
    resume_at: dict[str, int] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)
    pages: list[SearchPage] = field(default_factory=list)

    @property
    def has_room(self) -> bool:
        return len(self.matches) < self.most

    def postpone(self, buffer: str, start: int) -> None:
        """Leave a buffer for the next call: there is no room for more matches."""
        self.resume_at[buffer] = start
        self.unfinished.append(buffer)

    def search(self, buffer: str, file: BinaryIO, span_in: Callable[[int], SearchSpan], stop: Event) -> None:
        """Search one span of a buffer. `span_in` returns the span for the size of the buffer."""
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            span = widen_to_characters(text, span_in(len(text)))
            room = self.most - len(self.matches)
            found = search_page(text, self.asked, span, room=room, context=self.context, stop=stop)
            hits = (
                found.hits
                if self.redactor is None
                else [hit for hit in found.hits if not self._is_secret(text, hit)]
            )
            self.matches += [self._match(buffer, text, span, hit) for hit in hits]
        self.pages.append(found)
        self.scanned.append(max(found.next - span.start, 0))
        self.resume_at[buffer] = found.next
        if found.next < span.high:
            self.unfinished.append(buffer)

    def _match(self, buffer: str, text: SearchableBytes, span: SearchSpan, hit: SearchHit) -> BufferMatch:
        """Return a match with its context. Only the beginning of a very long match is shown."""
        length, beside = hit.end - hit.start, min(self.context, LONGEST_SHOWN)
        end = hit.end + beside if length <= LONGEST_SHOWN else hit.start + LONGEST_SHOWN
        first = max(character_boundary(text, max(hit.start - beside, 0), -1), span.low)
        last = min(character_boundary(text, min(end, len(text)), 1), max(span.high, hit.end))
        return BufferMatch(
            match_id=f"{buffer}:{hit.start}",
            buffer=buffer,
            offset_bytes=hit.start,
            match_len=length,
            context_start=first,
            context_end=last,
            snippet=self._show(text, first, last),
            similarity=None if hit.similarity is None else round(hit.similarity, _DIGITS),
        )

    def _is_secret(self, text: SearchableBytes, hit: SearchHit) -> bool:
        """Return whether a match is in a secret: it is not reported, or its offset would tell the secret."""
        first = character_boundary(text, max(0, hit.start - MARGIN), -1)
        around = text[first : hit.end + MARGIN].decode("utf-8", "surrogateescape")
        return self.redactor is not None and self.redactor.has_secret(
            around, hit.start - first, hit.end - first
        )

    def _show(self, text: SearchableBytes, first: int, last: int) -> str:
        """Return a range as text, without secrets where the configuration says so."""
        shown = decode_range(text, first, last)
        if self.redactor is None:
            return shown
        before = decode_range(text, character_boundary(text, max(0, first - MARGIN), -1), first)
        after = decode_range(text, last, character_boundary(text, min(len(text), last + MARGIN), 1))
        return self.redactor.redact_part(before, shown, after)

    def answer(self, buffers: Sequence[str], mode: str) -> BufferMatches:
        """Build the answer."""
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
            resume_from_offset=self.resume_at,
            matches=self.matches,
            max_similarity=max(alike, default=None),
            avg_similarity=round(sum(alike) / len(alike), _DIGITS) if alike else None,
            fuzzy_skipped_lines=sum(row.skipped_lines for row in self.pages),
            fuzzy_skipped_bytes=sum(row.skipped_bytes for row in self.pages),
        )
