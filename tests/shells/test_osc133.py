"""Marks in a stream of bytes: ours are told, all else is text, wherever the bytes are split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.shells.osc133 import Mark, Scanner, Stripper

NONCE = "0123456789abcdef" * 2
OTHER = "f" * 32


def mark(kind: str, value: str = "", nonce: str = NONCE) -> bytes:
    return f"\x1b]133;{kind}{f';{value}' if value else ''};{nonce}\x07".encode()


def scanned(*chunks: bytes) -> tuple[bytes, list[tuple[str, str, int]]]:
    """The text and the marks, each with the offset behind it."""
    scanner, text, marks, offset = Scanner(), b"", [], 0
    scanner.nonces.add(NONCE)
    for chunk in chunks:
        for item in scanner.feed(chunk, offset):
            if isinstance(item, Mark):
                marks.append((item.kind, item.value, item.end))
            else:
                text += item
        offset += len(chunk)
    return text + scanner.rest(), marks


STREAM = (
    b"$ "
    + mark("B")
    + b"echo \x1b[1mhi\r\n"
    + mark("C")
    + b"h\x1b]133;A\x07i"
    + mark("D", "0")
    + mark("D", "7", OTHER)
)


@pytest.mark.parametrize("at", range(len(STREAM) + 1))
def test_the_same_comes_out_wherever_the_bytes_are_split(at: int) -> None:
    assert scanned(STREAM[:at], STREAM[at:]) == scanned(STREAM)


def test_our_marks_leave_no_trace_and_others_stay_as_they_are() -> None:
    text, marks = scanned(STREAM)
    assert text == b"$ echo \x1b[1mhi\r\nh\x1b]133;A\x07i" + mark("D", "7", OTHER)
    assert [(kind, value) for kind, value, _ in marks] == [("B", ""), ("C", ""), ("D", "0")]
    assert STREAM[: marks[0][2]].endswith(mark("B"))


@given(st.lists(st.sampled_from([b"x", b"\x1b", b"]133;", b";", b"\x07", NONCE.encode(), b"D;1;", b"\n"])))
def test_no_byte_is_lost_or_made_up(pieces: list[bytes]) -> None:
    text, marks = scanned(*pieces)
    whole = b"".join(pieces)
    assert len(whole) >= len(text)
    if not marks:
        assert text == whole


def test_what_never_ends_is_let_through_in_the_end() -> None:
    assert scanned(b"a\x1b]133;D;1;") == (b"a\x1b]133;D;1;", [])
    long = b"\x1b]133;" + b"x" * 1000
    assert scanned(long, b"y") == (long + b"y", [])


@pytest.mark.parametrize("size", [1, 7, len(STREAM)])
def test_a_stripper_takes_out_marks_whosever_they_are_and_nothing_else(size: int) -> None:
    stripper = Stripper()
    pieces = (STREAM[at : at + size] for at in range(0, len(STREAM), size))
    assert b"".join(map(stripper.strip, pieces)) == b"$ echo \x1b[1mhi\r\nh\x1b]133;A\x07i"
