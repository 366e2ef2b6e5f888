"""Patterns of escape sequences: all spellings of the alternate screen, and marks that are torn."""

from __future__ import annotations

import time

import pytest

from muxpilot.terminal.escapes import ALTERNATE_SWITCH, ALTERNATE_SWITCH_BYTES, count_torn_mark


@pytest.mark.parametrize(
    ("sequence", "wanted"),
    [
        ("\x1b[?1049h", "h"),
        ("\x1b[?1047l", "l"),
        ("\x1b[?47h", "h"),
        ("\x1b[?25;1049h", "h"),
        ("\x1b[?1049;25;7l", "l"),
        ("\x1b[47h", None),
        ("\x1b[?1048h", None),
        ("\x1b[?10490h", None),
        ("\x1b[?147h", None),
        ("\x1b[?1049", None),
    ],
)
def test_every_spelling_of_the_alternate_screen_is_recognized(sequence: str, wanted: str | None) -> None:
    found = ALTERNATE_SWITCH.search(sequence)
    same = ALTERNATE_SWITCH_BYTES.search(sequence.encode())
    assert (found[1] if found else None) == wanted
    assert (same[1].decode() if same else None) == wanted


def test_a_sequence_without_end_is_searched_in_a_moment() -> None:
    begun = time.process_time()
    assert ALTERNATE_SWITCH_BYTES.search(b"\x1b[?" + b"47;" * 300_000) is None
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    ("data", "torn"),
    [
        (b"text", 0),
        (b"text\x1b", 1),
        (b"text\x1b]13", 4),
        (b"text\x1b]133;B;ab", 10),
        (b"text\x1b]133;B;ab\x07", 0),
        (b"text\x1b]0;title", 0),
        (b"\x1b]133;" + b"x" * 100, 0),
    ],
)
def test_the_beginning_of_a_mark_is_held_back(data: bytes, torn: int) -> None:
    assert count_torn_mark(data, b"\x1b]133;", longest=50) == torn
