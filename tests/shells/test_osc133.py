"""Our marks are found in a stream of bytes wherever it is split; everything else is text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.shells.osc133 import MarkKind, MarkOrder, MarkScanner, MarkStripper, ShellMark

NONCE = "0123456789abcdef" * 2
OTHER = "f" * 32


PID = 4711


def mark(kind: str, value: str = "", nonce: str = NONCE) -> bytes:
    return f"\x1b]133;{kind};{value};12.{PID};{nonce}\x07".encode()


def scan(*chunks: bytes) -> tuple[bytes, list[tuple[str, str, int]]]:
    """Return the text and the marks, each with the offset after it."""
    scanner, text, marks, offset = MarkScanner(), b"", [], 0
    scanner.nonces.add(NONCE)
    for chunk in chunks:
        for item in scanner.feed(chunk, offset):
            if isinstance(item, ShellMark):
                marks.append((item.kind.value, item.value, item.end))
            else:
                text += item
        offset += len(chunk)
    return text + scanner.flush(), marks


STREAM = (
    b"$ "
    + mark("B")
    + b"echo \x1b[1mhi\r\n"
    + mark("C")
    + b"h\x1b]133;A\x07i"
    + mark("D", "0")
    + mark("D", "7", OTHER)
)


def test_the_same_comes_out_wherever_the_bytes_are_split() -> None:
    whole = scan(STREAM)
    assert [at for at in range(len(STREAM) + 1) if scan(STREAM[:at], STREAM[at:]) != whole] == []


def test_our_marks_leave_no_trace_and_others_stay_as_they_are() -> None:
    text, marks = scan(STREAM)
    assert text == b"$ echo \x1b[1mhi\r\nh\x1b]133;A\x07i" + mark("D", "7", OTHER)
    assert [(kind, value) for kind, value, _ in marks] == [("B", ""), ("C", ""), ("D", "0")]
    assert STREAM[: marks[0][2]].endswith(mark("B"))


@given(st.lists(st.sampled_from([b"x", b"\x1b", b"]133;", b";", b"\x07", NONCE.encode(), b"D;1;", b"\n"])))
def test_no_byte_is_lost_or_made_up(pieces: list[bytes]) -> None:
    text, marks = scan(*pieces)
    whole = b"".join(pieces)
    assert len(whole) >= len(text)
    if not marks:
        assert text == whole


def test_what_never_ends_is_let_through_in_the_end() -> None:
    assert scan(b"a\x1b]133;D;1;") == (b"a\x1b]133;D;1;", [])
    long = b"\x1b]133;" + b"x" * 1000
    assert scan(long, b"y") == (long + b"y", [])


@pytest.mark.parametrize("size", [1, 7, len(STREAM)])
def test_a_stripper_takes_out_marks_whosever_they_are_and_nothing_else(size: int) -> None:
    stripper = MarkStripper()
    pieces = (STREAM[at : at + size] for at in range(0, len(STREAM), size))
    assert b"".join(map(stripper.strip, pieces)) == b"$ echo \x1b[1mhi\r\nh\x1b]133;A\x07i"


def test_a_mark_has_the_number_of_its_prompt_and_the_pid_of_its_shell() -> None:
    scanner = MarkScanner()
    scanner.nonces.add(NONCE)
    (found,) = scanner.feed(mark("D", "3"))
    assert isinstance(found, ShellMark)
    assert (found.kind, found.number, found.serial, found.pid) == (MarkKind.STATUS, 3, 12, PID)


# The mark of an older version, and what other shells print if they have inherited a prompt.
MALFORMED = ("D;0", "D;0;", "D;0;.4711", "D;%?;7.%(2L.0.4711)", "D;$?;$((n+1)).$$", f"D;0;{'9' * 30}.4711")


@pytest.mark.parametrize("text", MALFORMED)
def test_a_mark_without_a_number_is_taken_out_and_is_no_news(text: str) -> None:
    scanner = MarkScanner()
    scanner.nonces.add(NONCE)
    (found,) = scanner.feed(f"\x1b]133;{text};{NONCE}\x07".encode())
    assert isinstance(found, ShellMark)
    assert MarkOrder(PID, 0).find_fault(found) is not None


def news(kind: str, serial: int, pid: int = PID) -> ShellMark:
    return ShellMark(MarkKind(kind), "0", NONCE, serial, pid)


# What a shell prints for two commands; its prompt repeats the status, and is drawn twice.
TOLD = [("D", 1), ("D", 1), ("B", 1), ("B", 1), ("C", 1), ("E", 2), ("D", 2), ("B", 2), ("C", 2), ("D", 3)]
IS_NEWS = [True, False, True, True, True, True, True, True, True, True]


def test_each_mark_is_news_once_but_a_prompt_may_be_drawn_again() -> None:
    order = MarkOrder(PID, 0)
    seen = []
    for kind, serial in TOLD:
        seen.append(order.find_fault(news(kind, serial)) is None)
        if seen[-1]:
            order.note(news(kind, serial))
    assert seen == IS_NEWS


def test_nothing_that_was_printed_before_is_news_while_a_command_runs() -> None:
    order = MarkOrder(PID, 0)
    for kind, serial in TOLD[:-1]:
        if order.find_fault(news(kind, serial)) is None:
            order.note(news(kind, serial))
    assert [told for told in TOLD[:-1] if order.find_fault(news(*told)) is None] == []
    assert order.find_fault(news("D", 3)) is None


def test_marks_of_another_process_are_no_news() -> None:
    assert MarkOrder(PID, 0).find_fault(news("D", 5, pid=PID + 1)) is not None
