"""The screen model draws what tmux draws; each row here was wrong in version 1, or is easily made wrong."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.terminal_streams import generate
from bench.terminal_tmux import DrawingPane, draw_model, drawing_panes
from muxpilot.terminal.screen import Screen
from muxpilot.terminal.shape import ScreenShape

COLUMNS, ROWS = 20, 6
# Streams and sequences of the quick proof. `./dev proof terminal` draws a million.
STREAMS, LENGTH = 40, 60


@pytest.fixture(scope="module")
def pane(request: pytest.FixtureRequest) -> Iterator[DrawingPane]:
    with drawing_panes([(COLUMNS, ROWS)]) as [pane]:
        yield pane


# What a program prints, and the rows that a person then sees.
DRAWN: dict[str, tuple[str, list[str]]] = {
    # Ignored by version 1
    "line drawing in G0": ("\x1b(0lqqk\x1b(B box", ["┌──┐ box"]),
    "line drawing in G1": ("\x1b)0\x0etqx\x0f text", ["├─│ text"]),
    "line drawing is chosen and saved with the cursor": ("\x1b(0\x1b7\x1b(Bq\x1b8q", ["─"]),
    "repeat": ("-\x1b[9b", ["----------"]),
    "repeated lines": ("\x1b(0q\x1b[4b\x1b(B", ["─────"]),
    "scroll up": ("a\r\nb\r\nc\x1b[2S", ["c"]),
    "scroll down": ("a\r\nb\x1b[T", ["", "a", "b"]),
    "erase above": ("abc\r\ndef\r\nghi\x1b[2;2H\x1b[1J", ["", "  f", "ghi"]),
    "origin mode": ("\x1b[2;4r\x1b[?6h\x1b[1;1Hx", ["", "x"]),
    "insert mode": ("abc\r\x1b[4hX\x1b[4lY", ["XYbc"]),
    "no wrapping": ("\x1b[?7l" + "a" * 30 + "b", ["a" * 19 + "b"]),
    "tab stops that a program sets": ("\x1b[3g\x1b[5G\x1bH\r\tx", ["    x"]),
    "back to a tab stop": ("0123456789\x1b[Zx", ["01234567x9"]),
    "the alignment test": ("\x1b#8\x1b[J", []),
    # Wrong in version 1
    "a line that wraps is reached in its last row": ("a" * 25 + "\x1b[A\rX", ["X" + "a" * 19, "a" * 5]),
    "backspace goes back over a wrap": ("a" * 20 + "b\b\bX", ["a" * 19 + "X", "b"]),
    "half of a wide character that is overwritten": ("世界\rX", ["X 界"]),
    "a region scrolls between its rows only": ("a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\nX", ["a", "c", "X", "d"]),
    "the end of a region is no end of the screen": (
        "\x1b[1;2r\x1b[9Bx\x1b[6;1Hy",
        ["", "x", "", "", "", "y"],
    ),
    "up stops at the region": ("\x1b[3;5r\x1b[5;1H\x1b[9Ax", ["", "", "x"]),
    "insert rows inside a region": ("a\r\nb\r\nc\r\nd\x1b[1;3r\x1b[2;1H\x1b[L", ["a", "", "b", "d"]),
    "delete rows inside a region": ("a\r\nb\r\nc\r\nd\x1b[1;3r\x1b[1;1H\x1b[M", ["b", "c", "", "d"]),
    "reverse index at the top": ("a\r\nb\x1b[H\x1bM", ["", "a", "b"]),
    "the cursor of the old alternate screen": ("a\x1b[?47hXY\x1b[?47lb", ["a  b"]),
    "a control inside a sequence": ("abc\x1b[\r2Cx", ["abx"]),
    "a sequence that another cuts": ("ab\x1b[5\x1b[Dx", ["ax"]),
    "a private sequence is another one": ("ab\x1b[?2Jc\x1b[>1Ad", ["abcd"]),
    "a soft reset changes nothing in tmux": ("\x1b[?7l\x1b[!p" + "a" * 30, ["a" * 20]),
    "C1 characters are no controls": ("a\u0085b\u009b2Jc", ["ab2Jc"]),
    "a string ends at the next sequence": ("\x1b]0;title\x1b[1mtext", ["text"]),
    "CAN and SUB end a sequence": ("ab\x1b[5\x18Cc\x1b(\x1a0q", ["abCc0q"]),
    "an image is not ended by CAN": ("a\x1bPq\x18b\x1b\\c", ["ac"]),
    "an escape inside of an image": ("\x1bPq\x1b[2J\x1b\x1b\\\x1b\\text", ["text"]),
}


def rows_of(text: str, shape: ScreenShape = ScreenShape(COLUMNS, ROWS)) -> list[str]:  # noqa: B008 - a record
    screen = Screen(shape)
    screen.write(text)
    rows = [row.text.rstrip() for row in screen.rows]
    while rows and not rows[-1]:
        rows.pop()
    return rows


@pytest.mark.parametrize("name", DRAWN)
def test_the_model_and_tmux_draw_the_same(name: str, pane: DrawingPane) -> None:
    text, wanted = DRAWN[name]
    assert rows_of(text) == wanted
    if "\t" in text and pane.is_newer:
        pytest.skip("a tab is a cell of its own in this tmux, and its width is in no capture")
    assert pane.draw(text) == draw_model(text, pane.shape, is_newer=pane.is_newer)


@pytest.mark.parametrize("text", ["世界\x1b[?7l\r\x1b[1Ka\rb", "\x1b(0世\r\x1b[1Kix\ri", "👍🏽\r\x1b[1K═\r🏳"])
def test_the_half_of_an_erased_character_is_as_in_tmux(text: str, pane: DrawingPane) -> None:
    assert pane.draw(text) == draw_model(text, pane.shape, is_newer=pane.is_newer)


@pytest.mark.parametrize("seed", range(STREAMS))
def test_generated_streams_look_the_same_in_tmux(seed: int, pane: DrawingPane) -> None:
    text = "".join(generate(Random(seed), LENGTH))
    text = text.replace("\t", "") if pane.is_newer else text
    assert pane.draw(text) == draw_model(text, pane.shape, is_newer=pane.is_newer)


@pytest.mark.parametrize("text", ["\x1b[?7l界世", "\x1b[?7lab世", "世\x1b[?7l界", "a世b", "\x1b[4h世a界"])
def test_a_screen_of_two_columns_looks_the_same_in_tmux(text: str) -> None:
    with drawing_panes([(2, 2)]) as [pane]:
        assert pane.draw(text) == draw_model(text, pane.shape, is_newer=pane.is_newer)


@settings(max_examples=60)
@given(st.integers(0, 1 << 30), st.data())
def test_a_stream_looks_the_same_wherever_it_is_split(seed: int, data: st.DataObject) -> None:
    text = "".join(generate(Random(seed), 40))
    at = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    whole, parts = (Screen(ScreenShape(COLUMNS, ROWS), has_styles=True) for _ in range(2))
    whole.write(text)
    for begin, end in zip([0, *at], [*at, len(text)], strict=True):
        parts.write(text[begin:end])
    assert [row.text for row in (*parts.history, *parts.rows)] == [
        row.text for row in (*whole.history, *whole.rows)
    ]
    assert (parts.x, parts.y, parts.pen) == (whole.x, whole.y, whole.pen)


@pytest.mark.parametrize(
    "text",
    ["x\x1b[1m" * 60_000, "\x1b" * 300_000, "\x1b[" * 150_000, "\x1b]0;" + "y" * 300_000, "é\r" * 150_000],
)
def test_the_time_grows_with_the_length_only(text: str) -> None:
    """Draw what would take minutes if each piece were read again and again."""
    screen = Screen(ScreenShape(COLUMNS, ROWS))
    screen.write(text)
    assert screen.y < ROWS
