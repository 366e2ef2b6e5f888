"""Terminal bytes as printed lines: none is missed, whatever happens to it and however the bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.terminal.line_drawing import DrawnLetters
from muxpilot.terminal.lines import LONGEST_LINE, LineSplitter, strip_sequences
from muxpilot.terminal.text import render_lines

ESC = b"\x1b"


def lines_of(*chunks: bytes) -> list[bytes]:
    """Return all lines but blank ones, whose number depends on how the bytes were cut."""
    printed, lines = LineSplitter(), []
    for chunk in chunks:
        batch = printed.feed(chunk)
        lines += batch.block.split(b"\n") if batch.lines else []
    return [line for line in (*lines, *printed.open_line.split(b"\n")) if line.strip()]


CASES = [
    (b"one\r\ntwo\r\n", [b"one", b"two"]),
    (b"one\ntwo", [b"one", b"two"]),
    (b"10%\r20%\r30%\r\ndone\r\n", [b"10%", b"20%", b"30%", b"done"]),
    (b"\x1b[31merror:\x1b[0m bad\r\n", [b"error: bad"]),
    (b"secret\x1b[2J\x1b[Hnew\r\n", [b"secret", b"new"]),
    (b"gone\r\x1b[Kstays\r\n", [b"gone", b"stays"]),
    (b"\x1b]0;a title\x07text\r\n", [b"text"]),
    (b"\x1b]0;a title\x1b\\text\r\n", [b"text"]),
    (b"\x1bP1$r image \n data\x1b\\text\r\n", [b"text"]),
    (b"\x1bkname\x1b\\text\r\n", [b"text"]),
    (b"\x1b[5;10Hhere\x1b[9;1Hthere\r\n", [b"here", b"there"]),
    (b"a\x1b[3Cb\r\n", [b"a b"]),
    (b"\x1b[?1049hfull screen\x1b[?1049lback\r\n", [b"full screen", b"back"]),
    (b"a\x1b[?25;1049hfull screen\x1b[?1049;25lback\r\n", [b"a", b"full screen", b"back"]),
    (b"\x1b[?2004h$ ls\x1b[?2004l\r\r\nfile\r\n", [b"$ ls", b"file"]),
    (b"tab\tstays\r\n", [b"tab\tstays"]),
    ("gr\u00fc\u00df \u4e2d\u6587\r\n".encode(), ["gr\u00fc\u00df \u4e2d\u6587".encode()]),
    (b"bell\x07 rings\r\n", [b"bell rings"]),
    (b"\x1b(B\x1b[mplain\x0f\r\n", [b"plain"]),
    (b"Password: ", [b"Password: "]),
    (b"\x1b(0lqk\x1b(B box\r\nlqk\r\n", ["┌─┐ box".encode(), b"lqk"]),
    (b"\x1b)0a x\r\n\x0ex\x0f x\r\n", [b"a x", "│ x".encode()]),
    (b"\x1b(0q\x1b[31mq\x1b]0;q\x07q\r\nq\x1b(B\r\n", ["───".encode(), "─".encode()]),
    ("\x1b(0qé世\x1b(B\r\n".encode(), ["─é世".encode()]),
    (b"\x1b(0\x1b7\x1b(Bq\r\n\x1b8q\r\n\x1bcq\r\n", [b"q", "─".encode(), b"q"]),
    (b"\x1b(0\x1b[sq\x1b(Bq\x1b[uq\r\n", ["─q".encode(), "─".encode()]),
    (b"a\x1b\x1b[31mq\x1b[5\x1b]0;title\x07q\x1b\x1b]0;title\x07q\r\n", [b"aqqq"]),
    (b"\x1b(0lq\x1b\x1b]0;title\x07qk\r\n", ["┌──┐".encode()]),
    (b"\x1b)0\x0eq\x1b)Bq\x1b(0q\x0fq\x1b(Bq\r\n", ["─qq─q".encode()]),
]


@pytest.mark.parametrize(("data", "expected"), CASES)
def test_what_is_printed_is_a_line(data: bytes, expected: list[bytes]) -> None:
    assert lines_of(data) == expected


@pytest.mark.parametrize(("data", "expected"), CASES)
def test_the_lines_are_the_same_wherever_the_bytes_are_cut(data: bytes, expected: list[bytes]) -> None:
    for at in range(len(data) + 1):
        assert lines_of(data[:at], data[at:]) == expected, at
    assert lines_of(*(data[at : at + 1] for at in range(len(data)))) == expected


@pytest.mark.parametrize(("data", "expected"), CASES)
def test_the_lines_are_the_same_after_much_output_in_colours(data: bytes, expected: list[bytes]) -> None:
    flood = b"\x1b[32mINFO\x1b[0m some \x1b[1mtext\x1b[m\x1b[K\r\n" * 200
    for at in range(len(data) + 1):
        lines = lines_of(flood + data[:at], data[at:])
        assert lines == [b"INFO some text"] * 200 + expected


@pytest.mark.parametrize(
    ("data", "bells"),
    [
        (b"\x07", 1),
        (b"a\x07b\x07", 2),
        (b"\x1b]0;title\x07", 0),
        (b"\x1b]0;title\x07\x07", 1),
        (b"\x1bP\x1b\\\x07", 1),
        (b"no", 0),
    ],
)
def test_a_bell_rings_but_the_end_of_a_title_does_not(data: bytes, bells: int) -> None:
    for at in range(len(data) + 1):
        printed = LineSplitter()
        assert printed.feed(data[:at]).bells + printed.feed(data[at:]).bells == bells


@pytest.mark.parametrize(
    ("data", "is_change"),
    [
        (b"x", True),
        (b"\r\n", True),
        (b"\x1b[2J", True),
        (b"\x1b[3A", True),
        (b"\x1b[?1049h", True),
        (b"\x1b[?25;1049h", True),
        (b"\x07", False),
        (b"\x1b]0;title\x07", False),
        (b"\x1b[31m", False),
        (b"\x1b[?25l", False),
        (b"\x1b[6n", False),
        (b"", False),
    ],
)
def test_a_change_is_something_that_a_person_can_see(data: bytes, *, is_change: bool) -> None:
    assert LineSplitter().feed(data).is_change is is_change


def test_a_line_that_never_ends_is_cut_and_not_kept() -> None:
    printed = LineSplitter()
    for _ in range(64):
        printed.feed(b"x" * 4096)
        assert len(printed.open_line) <= LONGEST_LINE
    assert printed.feed(b"\n").lines == 1


def test_a_string_that_never_ends_is_given_up() -> None:
    printed = LineSplitter()
    printed.feed(b"\x1b]0;")
    for _ in range(20):
        printed.feed(b"x" * (1 << 16))
    assert printed.feed(b"\ntext\n").block.endswith(b"text")


def test_plain_text_is_left_as_it_is() -> None:
    assert strip_sequences(b"a b\nc") == b"a b\nc"


CHOICES = (b"\x0e", b"\x0f", b"\x1b(0", b"\x1b(B", b"\x1b)0", b"\x1b)B")
PRINTED = (b"lqk", b"abc xyz", b"\r\n", b"\x1b[1m", *CHOICES)


@given(st.lists(st.sampled_from(PRINTED), max_size=30), st.integers(0, 200))
def test_letters_are_drawn_as_on_a_screen(pieces: list[bytes], at: int) -> None:
    data = b"".join(pieces)
    wanted = [line.encode() for line in render_lines(data) if line.strip()]
    assert lines_of(data[:at], data[at:]) == wanted


def test_letters_that_were_chosen_while_text_was_typed_count_for_the_output() -> None:
    letters = DrawnLetters()
    output, typing = LineSplitter(letters=letters), LineSplitter(needs_text=False, letters=letters)
    typing.feed(b"\x1b(0")
    assert output.feed(b"q\n").block == "─".encode()
