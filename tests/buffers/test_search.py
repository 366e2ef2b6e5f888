"""Search of bytes: each match is found once, whatever the pages, and as in the whole text."""

from __future__ import annotations

import re
from threading import Event

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.buffers.search import (
    LONGEST_LINE,
    LONGEST_SHOWN,
    SearchHit,
    SearchPage,
    SearchSpan,
    SearchStopped,
    compile_query,
    search_page,
)
from muxpilot.errors import BadInput

Found = list[tuple[int, int]]


def search(
    text: bytes,
    words: str,
    mode: str = "literal",
    *,
    start: int = 0,
    most: int = 1 << 30,
    room: int = 1000,
    threshold: float | None = None,
) -> SearchPage:
    asked = compile_query(words, mode, threshold=threshold, with_similarity=False)
    span = SearchSpan(0, start, min(start + most, len(text)), len(text))
    return search_page(text, asked, span, room=room, context=0, stop=Event())


def search_in_pages(
    text: bytes, words: str, mode: str, *, most: int, room: int, threshold: float | None = None
) -> tuple[list[SearchHit], int, int]:
    """Return all hits of all pages, and what was skipped."""
    hits: list[SearchHit] = []
    start = lines = skipped = 0
    for _ in range(2 * len(text) + 2):
        found = search(text, words, mode, start=start, most=most, room=room, threshold=threshold)
        hits += found.hits
        lines, skipped = lines + found.skipped_lines, skipped + found.skipped_bytes
        assert found.next > start or found.next == len(text)
        assert found.is_cut or found.next >= min(start + most, len(text))
        start = found.next
        if start == len(text):
            return hits, lines, skipped
    raise AssertionError("the pages never end")


def spans(hits: list[SearchHit]) -> Found:
    return [(hit.start, hit.end) for hit in hits]


SMALL = st.text(alphabet="ab\né世🎉", max_size=60)


@given(SMALL, st.text(alphabet="abé世🎉\n", min_size=1, max_size=3), st.integers(1, 20), st.integers(1, 4))
def test_pages_of_any_size_find_each_literal_once(text: str, words: str, most: int, room: int) -> None:
    data = text.encode()
    wanted = [match.span() for match in re.finditer(re.escape(words.encode()), data)]
    hits, _, _ = search_in_pages(data, words, "literal", most=most, room=room)
    assert spans(hits) == wanted


PATTERNS = [
    "a+",
    "a.*b",
    "(?s)a.+b",
    "(?m)^a",
    r"\bé?a\b",
    "a$",
    "(?m)b$",
    "^.",
    "[^a]+",
    "é|世a",
    "世{2,}",
    "(a|ab)(b|)",
    "(?s).{3}",
]


@given(SMALL, st.sampled_from(PATTERNS), st.integers(1, 20), st.integers(1, 4))
def test_pages_of_any_size_find_each_regex_match_once(text: str, words: str, most: int, room: int) -> None:
    data = text.encode()
    wanted = [match.span() for match in re2.finditer(words, data)]
    hits, _, _ = search_in_pages(data, words, "regex", most=most, room=room)
    assert spans(hits) == wanted


LINES = st.lists(
    st.one_of(
        st.text(alphabet="refusdé 世", max_size=12), st.just("x" * (LONGEST_LINE + 9)), st.just("refusde")
    ),
    max_size=8,
).map("\n".join)


@given(
    LINES, st.sampled_from(["literal", "regex"]), st.sampled_from([1, 5, 40, 3000, 9000]), st.integers(1, 4)
)
def test_pages_of_any_size_find_the_same_likeness(text: str, mode: str, most: int, room: int) -> None:
    data = text.encode()
    words = "refused" if mode == "literal" else "ref.s"
    whole = search(data, words, mode, threshold=0.6)
    hits, lines, skipped = search_in_pages(data, words, mode, most=most, room=room, threshold=0.6)
    assert hits == whole.hits
    assert (lines, skipped) == (whole.skipped_lines, whole.skipped_bytes)


@given(st.binary(max_size=40), st.sampled_from(["a", "é", "\x00", "�"]), st.integers(1, 9))
def test_bytes_that_are_no_text_are_searched_as_they_are(data: bytes, words: str, most: int) -> None:
    wanted = [match.span() for match in re.finditer(re.escape(words.encode()), data)]
    hits, _, _ = search_in_pages(data, words, "literal", most=most, room=2)
    assert spans(hits) == wanted
    search_in_pages(data, words, "regex", most=most, room=2, threshold=0.5)


LIKE: list[tuple[str, str, float, list[str]]] = [
    ("connection refused", "12:00 conection refusd by peer\nall is well", 0.8, [" conection refusd "]),
    ("abcdef", "abcdef\nxxabcdefxx", 0.8, ["abcdef", "abcdef"]),
    ("banana", "b\nban\nbanane", 0.8, ["banane"]),
    ("日本語の文", "これは日本語之文です", 0.7, ["日本語之文"]),
    ("naïve", "a naive idea", 0.8, ["naive"]),
    ("same", "\n\n\n", 0.0, []),
    ("regex.like", "regex like", 0.9, ["regex like"]),
]


@pytest.mark.parametrize(("words", "text", "threshold", "wanted"), LIKE)
def test_what_is_nearly_there_is_found_once_in_a_line(
    words: str, text: str, threshold: float, wanted: list[str]
) -> None:
    data = text.encode()
    found = search(data, words, threshold=threshold)
    assert [data[hit.start : hit.end].decode() for hit in found.hits] == wanted
    assert all(hit.similarity is not None and threshold <= hit.similarity <= 1 for hit in found.hits)


def test_lines_too_long_to_compare_are_counted_and_still_searched_exactly() -> None:
    data = b"needle\n" + b"x" * 5000 + b"needle\nneedel\n"
    found = search(data, "needle", threshold=0.8)
    assert spans(found.hits) == [(0, 6), (5007, 5013), (5014, 5020)]
    assert (found.skipped_lines, found.skipped_bytes) == (1, 5006)


def test_a_match_across_the_end_of_a_page_is_found_by_the_page_where_it_starts() -> None:
    data = b"..needle..needle"
    first = search(data, "needle", most=4)
    assert (spans(first.hits), first.next) == ([(2, 8)], 8)
    assert spans(search(data, "needle", start=first.next).hits) == [(10, 16)]


def test_an_empty_match_is_refused_rather_than_told_for_every_byte() -> None:
    with pytest.raises(BadInput, match=r"zero-length match, at byte 0\. Use a pattern"):
        search(b"bbb", "a*", "regex")


def test_a_pattern_that_would_be_slow_is_refused() -> None:
    with pytest.raises(BadInput, match="'query' is too large a pattern for a buffer"):
        search(b"x", "(?s)[ab].{0,500}c.{0,500}x", "regex")


def test_a_page_ends_where_its_snippets_would_grow_too_large() -> None:
    asked = compile_query("x" * 4000, "literal", threshold=None, with_similarity=False)
    data = b"x" * 8_000_000
    span = SearchSpan(0, 0, len(data), len(data))
    found = search_page(data, asked, span, room=5000, context=LONGEST_SHOWN, stop=Event())
    assert found.is_cut
    assert 0 < len(found.hits) < 500
    assert found.next == found.hits[-1].end


def test_a_search_that_nobody_waits_for_ends() -> None:
    stop = Event()
    stop.set()
    asked = compile_query("x", "literal", threshold=0.9, with_similarity=False)
    with pytest.raises(SearchStopped):
        search_page(b"a\nb\n", asked, SearchSpan(0, 0, 4, 4), room=1, context=0, stop=stop)


def test_a_query_too_long_for_likeness_is_refused_and_a_long_literal_is_not() -> None:
    with pytest.raises(BadInput, match="'query' is longer than 500 characters"):
        compile_query("x" * 501, "literal", threshold=0.8, with_similarity=False)
    words = "ab" * 500_000
    assert spans(search(b"-" + words.encode() + b"-", words).hits) == [(1, 1_000_001)]


@pytest.mark.parametrize("words", ["(", "a{1,99999}", r"(a)\1", "(?=x)"])
def test_a_bad_pattern_is_named(words: str) -> None:
    with pytest.raises(BadInput, match="'query' is not a regular expression"):
        compile_query(words, "regex", threshold=None, with_similarity=False)
