"""Captures of tmux become cells, and the styles of cells become colours."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.pictures.palette import DARK, LIGHT, THEMES, Rgb, Theme, cell_colours, to_rgb
from muxpilot.terminal.cells import CellGrid, CellStyle, ScreenCell, apply_sgr, parse_screen
from muxpilot.terminal.width import EmojiCells

STYLES: list[tuple[str, dict[str, Any]]] = [
    ("1", {"bold": True}),
    ("2", {"dim": True}),
    ("3", {"italic": True}),
    ("4", {"underline": 1}),
    ("4:3", {"underline": 3}),
    ("21", {"underline": 2}),
    ("7", {"reverse": True}),
    ("8", {"hidden": True}),
    ("9", {"strike": True}),
    ("53", {"overline": True}),
    ("31", {"fg": 1}),
    ("97", {"fg": 15}),
    ("44", {"bg": 4}),
    ("103", {"bg": 11}),
    ("38;5;208", {"fg": 208}),
    ("48:5:17", {"bg": 17}),
    ("38;2;1;2;3", {"fg": (1, 2, 3)}),
    ("48:2::4:5:6", {"bg": (4, 5, 6)}),
    ("48:2:4:5:6", {"bg": (4, 5, 6)}),
    ("58;2;1;2;3;1", {"bold": True, "line": (1, 2, 3)}),
    ("58:5:3", {"line": 3}),
    ("58:5:3;59", {}),
    ("5:3", {"overline": True}),
    ("1;38;5;9;4;48;2;7;8;9", {"bold": True, "fg": 9, "underline": 1, "bg": (7, 8, 9)}),
    ("1;0;3", {"italic": True}),
    ("1;2;22", {}),
    ("3;4;7;8;9;53;31;41;23;24;27;28;29;55;39;49", {}),
    ("", {}),
    ("38", {}),
    ("38;5", {}),
    ("999", {}),
]


@pytest.mark.parametrize(("codes", "wanted"), STYLES)
def test_a_sequence_says_how_what_follows_looks(codes: str, wanted: dict[str, Any]) -> None:
    assert apply_sgr(CellStyle(), codes) == CellStyle(**wanted)
    assert apply_sgr(CellStyle(bold=True, fg=3), "0") == CellStyle()


def text(shown: CellGrid) -> list[str]:
    return ["".join(cell.text for cell in row) for row in shown.rows]


LINES: list[tuple[str, list[tuple[str, int]]]] = [
    ("ab", [("a", 1), ("b", 1)]),
    ("世x", [("世", 2), ("x", 1)]),
    ("e\u0301x", [("e\u0301", 1), ("x", 1)]),
    ("👩\u200d💻x", [("👩\u200d💻", 2), ("x", 1)]),
    ("👍🏽x", [("👍🏽", 2), ("x", 1)]),
    ("⚠\ufe0fx", [("⚠\ufe0f", 2), ("x", 1)]),
    ("🇩🇪x", [("🇩🇪", 2), ("x", 1)]),
    ("\x0elqx\x0fl", [("┌", 1), ("─", 1), ("│", 1), ("l", 1)]),
    ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", [("l", 1), ("i", 1), ("n", 1), ("k", 1)]),
    ("a\x07\x00b", [("a", 1), ("b", 1)]),
]


@pytest.mark.parametrize(("line", "wanted"), LINES)
def test_characters_take_the_columns_that_tmux_gives_them(line: str, wanted: list[tuple[str, int]]) -> None:
    [row] = parse_screen([line], 12, 1).rows
    assert [(cell.text.rstrip("\x07\0"), cell.width) for cell in row if cell.text != " "] == wanted
    assert sum(cell.width for cell in row) == 12


def test_an_older_tmux_has_emoji_part_by_part() -> None:
    [row] = parse_screen(["👍🏽⚠\ufe0f🇩🇪"], 12, 1, emoji=EmojiCells.SEPARATE).rows
    wanted = [("👍", 2), ("🏽", 2), ("⚠\ufe0f", 1), ("🇩", 1), ("🇪", 1)]
    assert [(cell.text, cell.width) for cell in row if cell.text != " "] == wanted


# A lone letter of a flag, three of them, a skin colour after what has none, and before a hand.
VERSIONS = {
    EmojiCells.SEPARATE: [("🇩", 1), ("x", 1), ("🇩", 1), ("🇪", 1), ("🇫", 1), ("🎉", 2), ("🏽", 2), ("👍", 2)],
    EmojiCells.JOINED: [("🇩", 2), ("x", 1), ("🇩🇪🇫", 2), ("🎉🏽", 2), ("👍", 2)],
    EmojiCells.MATCHED: [("🇩", 1), ("x", 1), ("🇩🇪🇫", 2), ("🎉", 2), ("🏽👍", 2)],
    EmojiCells.PAIRED: [("🇩", 1), ("x", 1), ("🇩🇪", 2), ("🇫", 1), ("🎉", 2), ("🏽👍", 2)],
}


@pytest.mark.parametrize("emoji", EmojiCells)
def test_flags_and_skin_colours_take_the_cells_of_this_tmux(emoji: EmojiCells) -> None:
    [row] = parse_screen(["🇩x🇩🇪🇫🎉🏽👍"], 20, 1, emoji=emoji).rows
    assert [(cell.text, cell.width) for cell in row if cell.text != " "] == VERSIONS[emoji]


def test_colours_go_on_from_line_to_line_and_rows_are_filled() -> None:
    shown = parse_screen(["\x1b[31ma", "b\x1b[0m", "c"], 3, 4, (1, 2))
    assert [row[0].style.fg for row in shown.rows] == [1, 1, None, None]
    assert text(shown) == ["a  ", "b  ", "c  ", "   "]
    assert shown.cursor == (1, 2)


def test_what_does_not_fit_is_cut() -> None:
    assert text(parse_screen(["abcdef", "ab世", "x", "y"], 3, 3)) == ["abc", "ab ", "x  "]


@given(
    st.lists(st.text(alphabet="a世é\u0301\u200d\ufe0f\x1b[]0;:m\x0e\x9b🎉🇩🏽", max_size=30), max_size=4),
    st.integers(1, 9),
    st.sampled_from(EmojiCells),
)
def test_any_text_fills_the_screen_exactly(lines: list[str], columns: int, emoji: EmojiCells) -> None:
    shown = parse_screen(lines, columns, 3, emoji=emoji)
    assert [sum(cell.width for cell in row) for row in shown.rows] == [columns] * 3


@pytest.mark.parametrize(
    ("colour", "wanted"),
    [
        (16, (0, 0, 0)),
        (231, (255, 255, 255)),
        (196, (255, 0, 0)),
        (232, (8, 8, 8)),
        (255, (238, 238, 238)),
        (67, (95, 135, 175)),
    ],
)
def test_the_256_colours_are_where_terminals_have_them(colour: int, wanted: tuple[int, int, int]) -> None:
    assert to_rgb(DARK, colour, (9, 9, 9)) == wanted
    assert to_rgb(DARK, None, (9, 9, 9)) == (9, 9, 9)
    assert to_rgb(LIGHT, 1, (9, 9, 9)) == LIGHT.ansi[1] != DARK.ansi[1]


def test_reverse_the_cursor_dim_and_hidden_are_worked_out() -> None:
    red = CellStyle(fg=1)
    fg, bg = cell_colours(DARK, red)
    assert (fg, bg) == (DARK.ansi[1], DARK.bg)
    assert (
        cell_colours(DARK, CellStyle(fg=1, reverse=True))
        == (bg, fg)
        == cell_colours(DARK, red, is_cursor=True)
    )
    assert cell_colours(DARK, CellStyle(fg=1, reverse=True), is_cursor=True) == (fg, bg)
    assert cell_colours(DARK, CellStyle(hidden=True)) == (DARK.bg, DARK.bg)
    dimmed, _ = cell_colours(DARK, CellStyle(dim=True))
    assert all(low < part < high for low, part, high in zip(DARK.bg, dimmed, DARK.fg, strict=True))
    assert ScreenCell().style == CellStyle()


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
@pytest.mark.parametrize("colour", range(16))
def test_text_in_each_of_the_first_colours_can_be_read_on_the_theme_s_ground(
    theme: Theme, colour: int
) -> None:
    light, dark = sorted((luminance(theme.ansi[colour]), luminance(theme.bg)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 2


def luminance(colour: Rgb) -> float:
    """Return the relative luminance of WCAG."""
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
