"""Terminal bytes as text: the lines that a person would have seen in the end."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.terminal.shape import ScreenShape
from muxpilot.terminal.text import render_lines, render_text

ESC = b"\x1b"

TABLE: dict[str, tuple[bytes, list[str]]] = {
    "nothing": (b"", [""]),
    "lines": (b"a\r\nb\r\n", ["a", "b", ""]),
    "a line feed without a return keeps the column": (b"a\nb", ["a", " b"]),
    "colours": (b"\x1b[31mred\x1b[0m and \x1b[1;38;5;4mblue\x1b[m", ["red and blue"]),
    "carriage return": (b"10%\r50%\r100%", ["100%"]),
    "a shorter line over a longer one": (b"longer\rab", ["abnger"]),
    "erase to the end of the line": (b"longer\rab\x1b[K", ["ab"]),
    "erase to its beginning": (b"abcdef\x1b[3D\x1b[1K", ["    ef"]),
    "erase the whole line": (b"abcdef\x1b[2K", [""]),
    "backspace": (b"abc\b\bX", ["aXc"]),
    "backspace at the margin": (b"\b\bx", ["x"]),
    "a shell's backspace": (b"lsx\b \b", ["ls "]),
    "tab": (b"a\tb\t\tc", ["a       b               c"]),
    "columns": (b"\x1b[5Gx\x1b[2Gy", [" y  x"]),
    "left and right": (b"abc\x1b[2DX\x1b[1CY", ["aXcY"]),
    "cursor up redraws": (b"one\r\ntwo\r\n\x1b[2A\x1b[KONE\r\n\x1b[KTWO\r\n", ["ONE", "TWO", ""]),
    "up and down keep the column": (b"ab\r\ncd\x1b[AX\x1b[BY", ["abX", "cd Y"]),
    "up is held by the first line": (b"a\x1b[9Ab", ["ab"]),
    "next and previous line": (b"a\r\nb\x1b[Fx\x1b[Ey", ["x", "y"]),
    "save and restore": (b"ab\x1b7cd\x1b8X", ["abXd"]),
    "save and restore by sequence": (b"ab\x1b[scd\x1b[uX", ["abXd"]),
    "clear loses nothing": (b"before\r\n\x1b[H\x1b[2J\x1b[3Jafter", ["before", "after"]),
    "clear as some terminals do it": (b"before\r\n\x1b[H\x1b[Jafter", ["before", "after"]),
    "clear of an empty screen": (b"\x1b[H\x1b[2Jafter", ["after"]),
    "reset": (b"before\x1bcafter", ["before", "after"]),
    "a menu that is erased": (
        b"? Which\r\n > one\r\n   two\x1b[2A\r\x1b[J? Which one\r\n",
        ["? Which one", ""],
    ),
    "a menu that is erased again after a clear": (
        b"\x1b[H\x1b[J? Which\r\n > one\x1b[1A\r\x1b[J? Which one\r\n",
        ["? Which one", ""],
    ),
    "many lines over rows that are there": (
        b"aaaa\r\nbbbb\r\ncccc\x1b[2A\rx\r\ny\r\nz",
        ["xaaa", "ybbb", "zccc"],
    ),
    "many lines after text": (b"\x1b[31ma\x1b[0mb\r\nc\r\n\x1b[1md\r\n\x1b[2K e", ["ab", "c", "d", " e"]),
    "erase below": (b"a\r\nb\r\nc\x1b[2A\r\x1b[1C\x1b[J", ["a"]),
    "window title, BEL": (b"\x1b]0;title\x07text", ["text"]),
    "window title, ST": (b"\x1b]2;title\x1b\\text", ["text"]),
    "screen's title": (b"\x1bktitle\x1b\\text", ["text"]),
    "a title that another sequence cuts": (b"\x1b]0;title\x1b[31mtext", ["text"]),
    "hyperlink": (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ after", ["link after"]),
    "image": (b"\x1bPq#0;2;0;0;0\x1b\\text", ["text"]),
    "passed through": (b"\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\text", ["text"]),
    "application command": (b"\x1b_payload\x1b\\text", ["text"]),
    "alternate screen": (b"a\r\n\x1b[?1049h\x1b[2Jdrawn\x1b[?1049lb", ["a", "b"]),
    "older alternate screens do not save the cursor": (
        b"a\x1b[?47hX\x1b[?47lb\x1b[?1047hY\x1b[?1047lc",
        ["a b c"],
    ),
    "alternate screen among others": (b"a\x1b[?1049;25hX\x1b[?25;1049lb", ["ab"]),
    "a mode of the same number that is none": (b"a\x1b[47hb\x1b[47lc", ["abc"]),
    "other modes": (b"\x1b[?25l\x1b[?2004h$ \x1b[?25h", ["$ "]),
    "character sets": (b"\x1b(B\x1b)0a\x1b=b\x1b>", ["ab"]),
    "bell and other controls": (b"a\x07b\x00c\x0ed\x0fe", ["abcde"]),
    "wide characters": ("世界\rX".encode(), ["X 界"]),
    "wide characters have two columns": ("世\x1b[3Gx".encode(), ["世x"]),
    "combining": ("e\u0301a\rX".encode(), ["Xa"]),
    "combining after a colour": ("e\x1b[1m\u0301a".encode(), ["e\u0301a"]),
    "combining after a wide one": ("世\x1b[1m\u0301x".encode(), ["世\u0301x"]),
    "combining at the margin has nothing to be drawn on": ("\u0301a".encode(), ["a"]),
    "joined emoji": ("👩‍👩‍👧!".encode(), ["👩‍👩‍👧!"]),
    "bytes that are no text": (b"a\xff\xfeb", ["a\ufffd\ufffdb"]),
    "an escape that is torn": (b"text\x1b", ["text"]),
    "a sequence that is torn": (b"text\x1b[38;5", ["text"]),
    "a private one that is torn": (b"text\x1b[?10", ["text"]),
    "a title that is torn": (b"text\x1b]0;half a ti", ["text"]),
    "an image that is torn": (b"text\x1bPq#0;2", ["text"]),
    "insert and delete cells": (b"abcd\r\x1b[2@XY\x1b[2P", ["XYcd"]),
    "erase cells": (b"abcd\r\x1b[2X", ["  cd"]),
    "insert a line": (b"a\r\nb\x1b[A\r\x1b[Lx", ["x", "a", "b"]),
    "delete a line": (b"a\r\nb\r\nc\x1b[2A\x1b[M", ["b", "c"]),
    "reverse line feed": (b"a\r\nb\x1bMX", ["aX", "b"]),
    "index and next line": (b"a\x1bDb\x1bEc", ["a", " b", "c"]),
    "any column may be asked for": (b"\x1b[999999999Gx", [" " * 9999 + "x"]),
    "a number that no terminal can read": (b"ab\x1b[99999999999999999999Gx", ["abx"]),
    "any distance may be asked for": (b"\x1b[999999999C" * 9 + b"x", [" " * 9999 + "x"]),
    "colons in colours": (b"\x1b[38:2::1:2:3mx", ["x"]),
}


@pytest.mark.parametrize(("data", "lines"), TABLE.values(), ids=TABLE)
def test_bytes_become_the_lines_that_were_seen(data: bytes, lines: list[str]) -> None:
    assert [line.rstrip() if not line.strip() else line for line in render_lines(data)] == lines


def test_what_stood_on_the_line_before_stays_there() -> None:
    assert render_lines(b"ls\r\n", before="$ ") == ["$ ls", ""]
    assert render_lines(b"\x1b[1mls\r\n", before="$ ") == ["$ ls", ""]
    assert render_lines(b"\rX", before="$ ") == ["X "]


def test_what_begins_inside_a_full_screen_program_is_left_out_until_it_leaves() -> None:
    text = render_text(b"drawn\x1b[5;5Hmore\x1b[?1049lafter", is_alternate=True)
    assert (text.lines, text.is_alternate) == (["after"], False)
    text = render_text(b"plain drawing", is_alternate=True)
    assert (text.lines, text.is_alternate) == ([""], True)
    assert render_text(b"a\x1b[?1049hx").is_alternate


def test_rows_below_the_screen_are_reached_by_their_place_on_it() -> None:
    page = b"".join(b"%d\r\n" % number for number in range(10))
    assert render_lines(page + b"\x1b[1;1HX", shape=ScreenShape(80, 3))[-3:] == ["7", "X", "9"]


def test_a_bar_at_the_bottom_of_the_screen_does_not_overwrite_what_scrolls_above_it() -> None:
    bar = b"\x1b7\x1b[5;1H\x1b[K[%d%%]\x1b8"
    data = b"\n\x1b7\x1b[0;4r\x1b8\x1b[1A" + bar % 0
    for number in range(20):
        data += b"line %d\r\n" % number + bar % number
    lines = render_lines(data, shape=ScreenShape(80, 5))
    assert [line for line in lines if line.startswith("line")] == [f"line {number}" for number in range(20)]
    assert [line for line in lines if line.startswith("[")] == ["[19%]"]


@given(st.binary(max_size=300))
def test_no_bytes_are_too_strange(data: bytes) -> None:
    assert render_lines(data)


@given(st.lists(st.sampled_from([data for data, _ in TABLE.values()]), max_size=6), st.integers(1, 60))
def test_any_mixture_is_rendered(parts: list[bytes], height: int) -> None:
    assert render_lines(b"".join(parts), shape=ScreenShape(80, height))


@given(st.lists(st.text(st.characters(exclude_categories=["C", "M", "Z"]), max_size=20), max_size=20))
def test_plain_text_is_the_same_on_the_short_and_on_the_long_way(lines: list[str]) -> None:
    data = "\r\n".join(lines).encode()
    assert render_lines(data) == render_lines(data + b"\x1b[m") == (lines or [""])


def test_much_colour_is_rendered_in_a_moment() -> None:
    data = b"".join(
        b"\x1b[32mINFO\x1b[0m line %d \x1b[1mbold\x1b[0m\r\n" % number for number in range(20_000)
    )
    begun = time.process_time()
    assert len(render_lines(data)) == 20_001
    assert time.process_time() - begun < 5
