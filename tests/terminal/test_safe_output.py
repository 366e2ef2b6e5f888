"""Output of panes for a terminal that must not be attacked: only what draws is left."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.terminal.safe_output import SafeOutputFilter

HOSTILE = {
    "the clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "the clipboard, ended by ST": "\x1b]52;c;cm0=\x1b\\",
    "a title": "\x1b]0;evil\x07",
    "screen's title": "\x1bkevil\x1b\\",
    "a link": "\x1b]8;;javascript:alert(1)\x1b\\",
    "colours of the palette": "\x1b]4;1;rgb:00/00/00\x07",
    "an image": "\x1bPq#0;2;0;0;0~~\x1b\\",
    "what tmux passes through": "\x1bPtmux;\x1b\x1b]52;c;cm0=\x07\x1b\\",
    "an application's command": "\x1b_Gf=100;AAAA\x1b\\",
    "a privacy message": "\x1b^evil\x1b\\",
    "a start of string": "\x1bXevil\x1b\\",
    "what are you": "\x1b[c",
    "what are you, exactly": "\x1b[>c",
    "your version": "\x1b[>q",
    "where is the cursor": "\x1b[6n",
    "which mode": "\x1b[?25$p",
    "resize the window": "\x1b[8;10;10t",
    "tell the title": "\x1b[21t",
    "tell of the mouse": "\x1b[?1000h\x1b[?1006h",
    "tell of the focus": "\x1b[?1004h",
    "132 columns": "\x1b[?3h",
    "keys of kitty": "\x1b[>1u\x1b[?u",
    "other keys of xterm": "\x1b[>4;2m",
    "answer back": "\x05",
    "a bell": "\x07",
    "an eight-bit introducer": "\u009b",
    "text that runs backwards": "\u202e",
}
DRAWING = (
    "plain text, 漢字, ✓ and é",
    "\x1b[1;38;2;10;20;30;48:5:3mcolour\x1b[0m",
    "\x1b[2J\x1b[H\x1b[10;20H\x1b[K\x1b[3A\x1b[1;24r\x1b[5L\x1b[2M\x1b[4@\x1b[3P\x1b[2X\x1b[3S\x1b[2T",
    "\x1b[?1049h\x1b[?25l\x1b[?7h\x1b[?6l\x1b[4h",
    "\x1b7\x1b8\x1bM\x1bD\x1bE\x1bc\x1b(0lqk\x1b(B\x1b)0\x0eqqq\x0f",
    "a\tb\r\nc\bd",
)
_ALLOWED = re.compile(
    r"\x1b\[\??[0-9;:]*[@A-MPSTXZ`abdefghlmrsu]|\x1b\[[0-9;:]* q|\x1b\[!p"
    r"|\x1b[78DEHMcno]|\x1b#8|\x1b[()][0AB]|[^\x00-\x1f\x7f-\x9f]|[\b-\r\x0e\x0f]"
)


def passed(*pieces: bytes) -> str:
    harmless = SafeOutputFilter()
    return "".join(harmless.feed(piece) for piece in pieces)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_would_act_is_taken_out_wherever_it_is_torn(name: str) -> None:
    data = f"before{HOSTILE[name]}after".encode()
    for at in range(len(data) + 1):
        assert passed(data[:at], data[at:]) == "beforeafter", at


@pytest.mark.parametrize("text", DRAWING)
def test_what_draws_is_left_as_it_is_wherever_it_is_torn(text: str) -> None:
    data = text.encode()
    for at in range(len(data) + 1):
        assert passed(data[:at], data[at:]) == text, at


def test_of_several_modes_only_those_that_draw_are_left() -> None:
    assert passed(b"\x1b[?1000;25;1006h") == "\x1b[?25h"


def test_a_string_without_an_end_costs_no_memory_and_ends_with_the_next_sequence() -> None:
    harmless = SafeOutputFilter()
    assert harmless.feed(b"\x1b]0;") == ""
    for _ in range(100):
        assert harmless.feed(b"x" * 100_000) == ""
    assert len(harmless._tokens._held) < 10
    assert harmless.feed(b"\x1b[1mshown") == "\x1b[1mshown"


@given(
    st.lists(
        st.sampled_from(
            [
                *(each.encode() for each in HOSTILE.values()),
                b"\x1b",
                b"[",
                b"]",
                b"P",
                b"\\",
                b"5",
                b";",
                b"\x9b",
                b"\xc2",
                b"n",
                b"k",
                b"a",
            ]
        ),
        max_size=12,
    ),
    st.data(),
)
def test_whatever_comes_and_however_it_is_cut_nothing_else_begins_with_an_escape(
    parts: list[bytes], data: st.DataObject
) -> None:
    whole = b"".join(parts)
    at = data.draw(st.integers(0, len(whole)))
    text = passed(whole[:at], whole[at:])
    assert _ALLOWED.sub("", text) == ""
    assert text == passed(whole)


@pytest.mark.parametrize("letter", "ILMSTZb")
def test_nothing_is_repeated_without_end(letter: str) -> None:
    """Limit counts: a browser would repeat it two thousand million times."""
    for number in ("1000", str(2**31 - 1), "9" * 63):
        assert passed(f"\x1b[{number}{letter}".encode()) == f"\x1b[999{letter}"
    assert passed(f"\x1b[{'9' * 5000}{letter}".encode()) == ""  # tmux discards it, too
    assert passed(f"\x1b[24{letter}\x1b[{letter}".encode()) == f"\x1b[24{letter}\x1b[{letter}"
