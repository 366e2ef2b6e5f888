"""Checks of layouts: those of tmux are accepted, other texts that look like one are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.errors import BadInput, Refused
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.models import Window
from muxpilot.tmux.objects import layouts

OLD, NEW = (3, 3), (3, 5)

# Printed by tmux 3.3a and 3.5a.
PRINTED = (
    "b25d,80x24,0,0,0",
    "cf3a,200x50,0,0{100x50,0,0,0,99x50,101,0,1}",
    "b05b,80x24,0,0[80x12,0,0,0,80x11,0,13{40x11,0,13,1,39x11,41,13,2}]",
    # a window with fewer rows than its panes need: the outermost cell is wrong, and tmux corrects it
    "e7d4,5x10,0,0[5x1,0,0,26,5x1,0,2,36,5x1,0,4,41,5x1,0,6,42,5x1,0,8,33,5x1,0,10,35,5x1,0,12,43,"
    "5x1,0,14,44,5x1,0,16,46,5x2,0,18,45]",
    # a window so narrow that a pane has no width left
    "1f2a,4x100,0,0[4x50,0,0{2x50,0,0[2x1,0,0{1x1,0,0,1,0x1,2,0,5},2x24,0,2,6,2x23,0,27{1x23,0,27,3,"
    "0x23,2,27,7}],1x50,3,0,4},4x49,0,51,8]",
)

# Each has the right checksum: texts that crash or could crash a server, and texts that are no layouts.
UNFIT = (
    "80x24",
    "80x24,0",
    "80x24,0,0,",
    "80x24,0,0,1,80x24,0,0,2",
    "-1x24,0,0,1",
    "80x24,0,0{",
    "80x24,0,0{}",
    "80x24,0,0{40x24,0,0,1,39x24,41,0,2",
    "80x24,0,0{40x24,0,0,1,39x24,41,0,2]",
    "80x24,0,0{40x24,0,0,1,39x24,41,0,2}}",
    "80x24,0,0{40x24,0,0,1;39x24,41,0,2}",
    "80x24,0,0{80x24,0,0,1}",
    "80x24,0,0{40x24,0,0,1,39x23,41,0,2}",
    "80x24,0,0[80x12,0,0,1,79x11,0,13,2]",
    "80x24,0,0[80x12,0,0,1,80x11,0,13{40x11,0,13,1,40x11,41,13,2}]",
    "10001x24,0,0,1",
    "80x99999,0,0,1",
    "80x24,0,0{9000x24,0,0,1,9000x24,0,0,2}",
    "٨0x24,0,0,1",
)


def layout_text(cells: str) -> str:
    return f"{layouts._checksum(cells):04x},{cells}"


@pytest.mark.parametrize("layout", [*layouts.LAYOUT_NAMES, *PRINTED])
@pytest.mark.parametrize("version", [OLD, NEW])
def test_what_tmux_knows_or_printed_is_taken(layout: str, version: tuple[int, int]) -> None:
    layouts.check_layout(layout, version)


@pytest.mark.parametrize("layout", layouts.MIRRORED_NAMES)
def test_mirrored_names_are_for_those_who_know_them(layout: str) -> None:
    layouts.check_layout(layout, NEW)
    with pytest.raises(BadInput, match="Use one of even-horizontal"):
        layouts.check_layout(layout, OLD)


@pytest.mark.parametrize(
    "layout", ["", "x", "tile", "TILED", "tiled ", "-n", "even", "main", "#{window_layout}", "cbf3", "cbf3,"]
)
def test_an_unknown_name_is_refused(layout: str) -> None:
    with pytest.raises(BadInput, match="is not a layout"):
        layouts.check_layout(layout, NEW)


@pytest.mark.parametrize("cells", UNFIT)
def test_cells_that_do_not_fit_are_refused(cells: str) -> None:
    assert not layouts.is_printed_layout(layout_text(cells))


@given(st.sampled_from(PRINTED), st.data())
def test_one_changed_character_is_refused(layout: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(layout) - 1))
    other = data.draw(st.sampled_from("0123456789abcdefx,{}[]").filter(lambda char: char != layout[at]))
    assert not layouts.is_printed_layout(layout[:at] + other + layout[at + 1 :])


def test_a_checksum_in_capitals_is_not_tmuxs() -> None:
    assert not layouts.is_printed_layout(PRINTED[1].upper().replace("X", "x"))


def test_cells_nested_beyond_reason_are_refused() -> None:
    deep = "80x24,0,0{" * 5000
    assert not layouts.is_printed_layout(layout_text(deep))


@given(st.text(st.sampled_from("0123456789x,{}[]abcdef"), max_size=60))
def test_no_text_breaks_the_check(cells: str) -> None:
    layouts.is_printed_layout(layout_text(cells))


WINDOW = Window(
    *(WindowId("@1"), 0, "w", True, 5, SessionId("$1"), "s", "", 80, 24),
    is_zoomed=False,
    active_pane_id=PaneId("%1"),
)


@pytest.mark.parametrize(
    ("panes", "width", "height", "fits"),
    [
        (1, 1, 1, True),
        (3, 80, 1, True),
        (5, 80, 1, False),
        (5, 80, 2, True),
        (5, 1, 80, True),
        (7, 1, 80, False),
        (10, 80, 2, False),
        (10, 80, 3, True),
        (13, 2, 80, False),
        (13, 3, 80, True),
    ],
)
def test_tiles_need_room_for_their_borders(panes: int, width: int, height: int, fits: bool) -> None:
    """Measured: if it does not fit, tmux 3.3a crashes and 3.5a hangs."""
    window = replace(WINDOW, panes=panes, width=width, height=height)
    layouts.check_window_fits("even-vertical", window)
    if fits:
        layouts.check_window_fits("tiled", window)
    else:
        with pytest.raises(Refused, match="Make it larger"):
            layouts.check_window_fits("tiled", window)
