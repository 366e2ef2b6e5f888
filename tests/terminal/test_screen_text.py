"""Rows that differ, and highlighted texts, from screens of cells."""

from __future__ import annotations

import pytest

from muxpilot.terminal.cells import CellGrid, parse_screen
from muxpilot.terminal.screen_text import Span, changed_rows, find_highlighted, row_text

WIDTH = 20


def grid(*lines: str) -> CellGrid:
    return parse_screen(lines, WIDTH, len(lines))


def on(colour: int, text: str) -> str:
    """Return a text on a background of one of eight colours, as wide as the screen."""
    return f"\x1b[4{colour}m{text:<{WIDTH}}\x1b[0m"


HIGHLIGHTED = {
    "nothing": (["plain", "\x1b[1;31mred\x1b[0m"], []),
    "reverse video": (["one", "\x1b[7mtwo\x1b[0m", "three"], ["two"]),
    "reverse, with another colour for a letter": (["\x1b[7m\x1b[4mF\x1b[24mile\x1b[0m"], ["File"]),
    "two on one row": (["\x1b[7mone\x1b[0m and \x1b[7mtwo\x1b[0m"], ["one", "two"]),
    "a bar of a colour": (["one", on(4, " two"), "three"], ["two"]),
    "blanks only": (["one", on(4, ""), "three"], []),
    "the ground of a theme": ([on(4, "one"), on(4, "two"), on(4, "three")], []),
    "a bar on the ground of a theme": (
        [on(4, "a"), on(4, "b"), on(4, "c"), on(6, "chosen"), on(4, "d"), on(4, "e"), on(4, "f")],
        ["chosen"],
    ),
    "a button in a box": (
        [
            on(7, "box"),
            on(7, "box"),
            "\x1b[47mbox\x1b[44m< OK >\x1b[47mbox" + " " * 8 + "\x1b[0m",
            on(7, "box"),
        ],
        ["< OK >"],
    ),
    "a wide character": (["\x1b[7m世界\x1b[0m x"], ["世界"]),
}


@pytest.mark.parametrize("case", HIGHLIGHTED)
def test_what_is_highlighted_is_found(case: str) -> None:
    lines, wanted = HIGHLIGHTED[case]
    assert find_highlighted(grid(*lines)) == wanted


def test_highlighted_texts_are_limited_to_a_region() -> None:
    shown = grid("\x1b[7mone\x1b[0m  \x1b[7mtwo\x1b[0m", "\x1b[7mthree\x1b[0m")
    assert find_highlighted(shown, Span(0, 0)) == ["one", "two"]
    assert find_highlighted(shown, Span(0, 1), Span(5, 10)) == ["two"]


def test_a_screen_in_reverse_does_not_fill_the_answer() -> None:
    shown = grid(*["\x1b[7m" + "x" * WIDTH + "\x1b[0m"] * 60)
    assert len(find_highlighted(shown)) == 20


def test_rows_that_differ_in_text_or_in_style_only_are_changed() -> None:
    before, after = grid("a", "b", "c"), grid("a", "\x1b[7mb\x1b[0m", "d")
    assert changed_rows(before, after) == {1: "b", 2: "d"}
    assert changed_rows(before, before) == {}
    assert changed_rows(grid("a"), grid("a", "b")) == {1: "b"}


def test_a_row_that_was_cleared_is_changed() -> None:
    assert changed_rows(grid("a", "b"), grid("a", "")) == {1: ""}


def test_without_a_screen_before_all_rows_with_text_are_new() -> None:
    assert changed_rows(None, grid("a", "", "c")) == {0: "a", 2: "c"}


def test_columns_of_a_row_count_wide_characters_twice() -> None:
    [row] = grid("世x界y").rows
    assert row_text(row, Span(2, 2)) == "x"
    assert row_text(row, Span(3, 5)) == "界y"
    assert row_text(row) == "世x界y"
