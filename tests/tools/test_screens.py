"""The screen as data, and the mouse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.rigs.engine import wait_until
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


async def start_mouse_program(rig: Rig, pane: Shell, file: Path, modes: str, **more: int) -> str:
    """Start a program that asks for the mouse and keeps all bytes that it gets."""
    made = await pane(f"stty raw -echo; printf '{modes}READY'; exec cat >{file}", **more)
    await rig.wait_until_shown(made.pane, "READY")
    await wait_until(file.exists)
    return made.pane


MODES = {
    "sgr": (r"\033[?1000h\033[?1006h", b"\x1b[<0;5;3M\x1b[<0;5;3m"),
    "utf-8": (r"\033[?1000h\033[?1005h", b"\x1b[M %#\x1b[M#%#"),
    "default": (r"\033[?1000h", b"\x1b[M %#\x1b[M#%#"),
}


@pytest.mark.parametrize("mode", MODES)
async def test_a_click_reaches_the_program_in_the_encoding_that_it_asked_for(
    rig: Rig, pane: Shell, tmp_path: Path, mode: str
) -> None:
    modes, wanted = MODES[mode]
    file = tmp_path / "got"
    pane_id = await start_mouse_program(rig, pane, file, modes)
    assert await rig.call("send-mouse", paneId=pane_id, row=2, column=4) == {"paneId": pane_id}
    await wait_until(lambda: len(file.read_bytes()) >= len(wanted))
    assert file.read_bytes() == wanted


ACTIONS: dict[str, tuple[dict[str, Any], bytes]] = {
    "press": ({"action": "press"}, b"\x1b[<0;1;1M"),
    "release": ({"action": "release", "button": "right"}, b"\x1b[<2;1;1m"),
    "wheel": ({"button": "wheel-down"}, b"\x1b[<65;1;1M"),
    "drag": ({"action": "drag", "toRow": 1, "toColumn": 3}, b"\x1b[<0;1;1M\x1b[<32;4;2M\x1b[<0;4;2m"),
}


@pytest.mark.parametrize("action", ACTIONS)
async def test_actions_of_the_mouse_are_events(rig: Rig, pane: Shell, tmp_path: Path, action: str) -> None:
    arguments, wanted = ACTIONS[action]
    file = tmp_path / "got"
    pane_id = await start_mouse_program(rig, pane, file, r"\033[?1002h\033[?1006h")
    await rig.call("send-mouse", paneId=pane_id, row=0, column=0, **arguments)
    await wait_until(lambda: len(file.read_bytes()) >= len(wanted))
    assert file.read_bytes() == wanted


async def test_a_program_without_a_mouse_is_left_alone(rig: Rig, fails: Fails, pane: Shell) -> None:
    made = await pane()
    words = await fails("send-mouse", paneId=made.pane, row=0, column=0)
    assert "has not asked for the mouse. Nothing was sent." in words
    assert "send-keys" in words
    assert (await rig.screen(made.pane)).strip() == "ready>"


async def test_places_that_a_program_cannot_be_told_are_refused(
    rig: Rig, fails: Fails, pane: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "got"
    pane_id = await start_mouse_program(rig, pane, file, r"\033[?1000h", width=300, height=20)
    assert "outside of the screen" in await fails("send-mouse", paneId=pane_id, row=20, column=0)
    assert "end at row and column 222" in await fails("send-mouse", paneId=pane_id, row=0, column=223)
    assert "'toRow'" in await fails("send-mouse", paneId=pane_id, row=0, column=0, action="drag")
    assert "'toRow'" in await fails("send-mouse", paneId=pane_id, row=0, column=0, toRow=1, toColumn=1)
    assert "'action'" in await fails(
        "send-mouse", paneId=pane_id, row=0, column=0, button="wheel-up", action="release"
    )
    assert file.read_bytes() == b""


async def test_a_click_and_what_it_does_are_one_call(rig: Rig, pane: Shell) -> None:
    made = await pane()
    program = r"printf '\033[?1000h\033[?1006hREADY'; stty raw -echo; dd bs=1 count=18 2>/dev/null | od -c; "
    await rig.call(
        "send-keys", paneId=made.pane, keys=f"({program} stty sane)", enter=True, until="pattern:^READY"
    )
    answer = await rig.call(
        "send-mouse", paneId=made.pane, row=0, column=0, until="pattern:0000022", timeoutMs=15_000
    )
    assert answer["event"] == "pattern:0000022"
    assert "[   <   0" in answer["changed"]
