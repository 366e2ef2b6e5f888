"""The screen as data."""

from __future__ import annotations

import pytest

from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell

pytestmark = pytest.mark.asyncio(loop_scope="module")

# A screen of a full-screen program, with a title, a highlighted text and the cursor at row 3, column 4.
DRAW = (
    r"printf '\033]2;the title\007\033[?1049h\033[H\033[2Jtop\033[2;3H\033[7mchosen\033[0m two"
    r"\033[4;5H'; exec sleep 60"
)


async def test_the_screen_is_told_as_rows_with_its_cursor_and_highlights(rig: Rig, pane: Shell) -> None:
    made = await pane(DRAW, width=40, height=6)
    await rig.wait_until_shown(made.pane, "two")
    screen = await rig.call("read-screen", paneId=made.pane)
    assert screen == {
        "paneId": made.pane,
        "width": 40,
        "height": 6,
        "rows": ["top", "  chosen two", "", "", "", ""],
        "cursor": {"row": 3, "column": 4, "visible": True},
        "highlighted": ["chosen"],
        "title": "the title",
        "alternateScreen": True,
    }


async def test_a_region_is_cut_out_of_the_screen(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane(DRAW, width=40, height=6)
    await rig.wait_until_shown(made.pane, "two")
    part = await call("read-screen", paneId=made.pane, rows=[1, 2], columns=[9, 99])
    assert (part["rows"], part["highlighted"]) == (["two", ""], [])
    assert (await call("read-screen", paneId=made.pane, rows=[0, 0]))["rows"] == ["top"]


@pytest.mark.parametrize("span", [[1], [1, 2, 3], [2, 1], [-1, 3], [99, 100]], ids=str)
async def test_a_region_that_there_is_not_is_refused(fails: Fails, pane: Shell, span: list[int]) -> None:
    made = await pane()
    assert "'columns'" in await fails("read-screen", paneId=made.pane, columns=[300, 301])
    assert "'rows'" in await fails("read-screen", paneId=made.pane, rows=span)
