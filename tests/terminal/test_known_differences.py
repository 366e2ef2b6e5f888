"""Where our terminal model differs from tmux, and that it does no more than docs/proof.md says."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.version_1_defects import DEFECTS
from muxpilot.terminal.lines import LineSplitter
from muxpilot.terminal.screen import Screen
from muxpilot.terminal.shape import ScreenShape
from muxpilot.terminal.text import TextPage, render_lines
from muxpilot.terminal.width import EmojiCells

PROOF = (Path(__file__).parents[2] / "docs" / "proof.md").read_text()
MARK = "\u0301"


@pytest.mark.parametrize(("emoji", "most"), [(EmojiCells.JOINED, 9), (EmojiCells.PAIRED, 14)])
def test_a_drawn_line_has_room_for_some_combining_characters(emoji: EmojiCells, most: int) -> None:
    """tmux has room for one more, because it counts the letter."""
    screen = Screen(ScreenShape(20, 6, emoji))
    screen.write("\x1b(0q" + MARK * 30)
    assert screen.rows[0].cells[0] == "─" + MARK * most


def test_a_skin_colour_has_a_cell_of_its_own_after_a_line_that_was_drawn_or_printed() -> None:
    screen = Screen(ScreenShape(20, 6, EmojiCells.JOINED))
    screen.write("\x1b(0q\x1b(B🏽")
    assert screen.rows[0].cells[:2] == ["─", "🏽"]


def test_a_joiner_stays_in_a_cell_that_has_no_room_for_what_it_joins() -> None:
    screen = Screen(ScreenShape(2, 2, EmojiCells.SEPARATE))
    flag = "\U0001f3f3\ufe0f\u200d\U0001f308"
    screen.write(f"\x1b[?7l{flag}{flag}m")
    assert screen.rows[0].cells == [f"{flag}\ufe0f\u200d", "m"]


def test_text_has_the_size_of_the_screen_at_its_beginning() -> None:
    """Plain text does not depend on it; a movement over a line that wraps does."""
    page = TextPage(ScreenShape(10, 5))
    page.write("x" * 15 + "\r\n")
    page.write("y" * 15 + "\x1b[A\rZ")
    assert page.text().split("\n") == ["x" * 15, "Z" + "y" * 14]


def test_a_set_that_was_chosen_before_the_beginning_is_not_known() -> None:
    assert render_lines(b"qq\x1b(B") == ["qq"]
    assert LineSplitter().feed(b"qq\x1b(B\n").block == b"qq"


def test_the_page_of_proofs_lists_every_defect_of_version_1() -> None:
    assert [name for name in DEFECTS if f"| {name} |" not in PROOF] == []
    assert len(DEFECTS) >= 10
