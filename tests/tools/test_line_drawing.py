"""Line drawing (ESC ( 0, SO and SI) is the characters that a person sees, whoever reads it."""

from __future__ import annotations

from typing import Any

import pytest

from muxpilot.record.cast import read_events
from muxpilot.record.frames import render_frames
from muxpilot.terminal.screen_text import row_text
from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Shell
from tests.rigs.waiting import LIMIT_S
from tests.rigs.watching import start_line_runner, watch_and_type

pytestmark = pytest.mark.asyncio(loop_scope="module")

LONG_MS = round(1000 * LIMIT_S)
# A box: its first row by G0, the others by G1 and shifts. The letters are not in the text that is typed.
BOX = r"printf '\033(0\154qqk\033(B\n\033)0\016x\017 error: ab \016x\017\n\016mqqj\017\n'"
DRAWN = ["┌──┐", "│ error: ab │", "└──┘"]


async def start_box(rig: Rig, pane: Shell, *, width: int = 40) -> str:
    """Return a pane that shows the box, and prints nothing more."""
    made = await pane(f"{BOX}; exec cat", width=width, height=10)
    await rig.wait_until_shown(made.pane, "error: ab")
    return made.pane


async def test_captures_have_the_characters(rig: Rig, pane: Shell) -> None:
    box = await start_box(rig, pane)
    ways: list[dict[str, Any]] = [{}, {"lines": 10}, {"join": True}, {"colors": True}, {"start": 0, "end": 5}]
    for more in ways:
        assert (await rig.text("capture-pane", paneId=box, **more)).split("\n") == DRAWN, more


async def test_reading_and_searching_find_the_characters(rig: Rig, call: Call, pane: Shell) -> None:
    box = await start_box(rig, pane)
    assert (await call("read-pane", paneId=box, grep="┌─"))["text"] == DRAWN[0]
    assert (await call("read-pane", paneId=box, grep="^lq"))["text"] == ""
    [found] = (await call("search-panes", query="│ error", paneIds=[box]))["matches"]
    assert (found["text"], found["before"]) == (DRAWN[1], [DRAWN[0]])
    screen = await call("read-screen", paneId=box)
    assert screen["rows"][:3] == DRAWN


async def test_outputs_and_typed_answers_have_the_characters(call: Call, pane: Shell) -> None:
    made = await pane(width=100)
    done = await call("execute-command", paneId=made.pane, command=BOX, timeoutSeconds=LIMIT_S)
    assert done["output"].splitlines() == DRAWN
    typed = await call(
        "send-keys", paneId=made.pane, keys=BOX, enter=True, until="pattern:^└", timeoutMs=LONG_MS
    )
    assert typed["changed"].splitlines()[-4:-1] == DRAWN


WATCHED = [
    ("pattern:^┌─+┐$", "┌──┐"),
    ("pattern:^└──┘$", "└──┘"),
    ("pattern:│ .* │", "│ error: ab │"),
    ("error", "│ error: ab │"),
]


@pytest.mark.parametrize(("trigger", "line"), WATCHED, ids=[trigger for trigger, _ in WATCHED])
async def test_watches_see_the_characters(rig: Rig, pane: Shell, trigger: str, line: str) -> None:
    report = await watch_and_type(rig.call, await start_line_runner(rig, pane), [trigger], BOX)
    assert report["event"] == trigger
    assert report["detail"].endswith(f": {line}")


async def test_a_recording_begins_with_the_characters_and_plays_them(
    rig: Rig, call: Call, pane: Shell
) -> None:
    box = await start_box(rig, pane)
    path = rig.folder / "box.cast"
    await call("record-pane", paneId=box, action="start", path=str(path))
    await call("record-pane", paneId=box, action="stop")
    [first, *_] = read_events(path)
    assert "┌──┐\r\n" in first.text
    assert "\x0e" not in first.text
    *_, (shown, _) = render_frames(path, speed=1.0, idle=1.0)
    assert [row_text(row) for row in shown.rows[:3]] == DRAWN
