"""The ring buffer of a stream: absolute offsets, the newest bytes, and a limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muxpilot.tmux.streams.ring_buffer import RingBuffer

LIMIT = 8
pieces = st.lists(st.text(st.sampled_from("ab\n"), max_size=25).map(str.encode), max_size=20)


def fill_buffer(data: list[bytes]) -> RingBuffer:
    ring = RingBuffer(LIMIT)
    for piece in data:
        ring.append(piece)
    return ring


@given(pieces)
def test_the_newest_bytes_are_kept_and_not_too_many(data: list[bytes]) -> None:
    ring = RingBuffer(LIMIT)
    whole = b""
    for piece in data:
        ring.append(piece)
        whole += piece
        kept = ring.end - ring.start
        assert ring.end == len(whole)
        assert min(LIMIT, len(whole)) <= kept <= 2 * LIMIT
        assert ring.read(ring.start, kept) == whole[ring.start :]


@given(pieces, st.integers(0, 300), st.integers(0, 40))
def test_what_is_read_is_what_was_written_there(data: list[bytes], offset: int, size: int) -> None:
    ring, whole = fill_buffer(data), b"".join(data)
    begin = max(offset, ring.start)
    assert ring.read(offset, size) == whole[begin : begin + size]


@given(pieces, st.integers(0, 300))
def test_lines_are_counted_from_the_first_byte(data: list[bytes], offset: int) -> None:
    ring, whole = fill_buffer(data), b"".join(data)
    there = max(offset, ring.start)
    assert ring.newlines_before(offset) == whole[:there].count(b"\n")


@given(pieces, st.integers(0, 300))
def test_lines_are_found_around_an_offset(data: list[bytes], offset: int) -> None:
    ring, whole = fill_buffer(data), b"".join(data)
    there = max(offset, ring.start)
    after = whole.find(b"\n", there)
    assert ring.find_newline(offset) == (after + 1 if after >= 0 else len(whole))
    before = whole.rfind(b"\n", ring.start, there)
    assert ring.find_newline_before(offset) == (before + 1 if before >= 0 else ring.start)


def test_a_restart_can_change_the_limit() -> None:
    ring = fill_buffer([b"x" * 30])
    ring.restart(100, 7, limit=4)
    ring.append(b"abcdefghij")
    assert (ring.start, ring.end, ring.newlines_before(106)) == (106, 110, 7)
    assert ring.read(100, 20) == b"ghij"
    ring.restart(0, 0)
    ring.append(b"x" * 9)
    assert ring.end - ring.start == 4
