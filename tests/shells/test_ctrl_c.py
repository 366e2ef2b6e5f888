"""Ctrl-C is pressed while muxpilot gives an incomplete command up: the next command runs whole."""

from __future__ import annotations

from typing import Any

import pytest

from muxpilot.tmux import PaneId
from tests.shells.conftest import SHELLS, Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")
_ROUNDS = 8


@pytest.fixture
def ctrl_c_before_ours(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C as a person just before muxpilot does."""
    pane_input = desk.app.servers.default.input
    press = type(pane_input).press

    async def press_twice(self: Any, pane: PaneId, *keys: str, **options: Any) -> None:
        if keys == ("C-c",):
            desk.run_tmux("send-keys", "-t", pane, "C-c")
        await press(self, pane, *keys, **options)

    monkeypatch.setattr(type(pane_input), "press", press_twice)


@pytest.mark.parametrize("shell", SHELLS)
async def test_the_next_command_is_neither_cut_nor_interrupted(
    desk: Desk, ctrl_c_before_ours: None, shell: str
) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, "echo ready")
    for number in range(_ROUNDS):
        assert (await desk.run(pane, "echo 'open"))["waitingForInput"]
        answer = await desk.run(pane, f"echo whole {number}")
        assert (answer["exitCode"], answer["output"]) == (0, f"whole {number}\n"), answer


async def test_a_line_that_fish_drops_for_ctrl_c_is_lost_and_the_next_command_runs(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fish prints no mark then: the private key shows that the line has gone."""
    desk.change_timing(monkeypatch, command_start_s=1.0)
    pane = await desk.own_pane("fish")
    await desk.run(pane, "echo ready")
    asked = await desk.run(pane, "echo 'open", waitMs=0)
    await desk.wait_for_screen(pane, "'open")
    desk.run_tmux("send-keys", "-t", pane, "C-c")
    ended = await desk.get_result(asked)
    assert (ended["status"], ended["exitCode"]) == ("lost", None), ended
    assert "before it was complete" in ended["reason"]
    assert (await desk.run(pane, "echo next"))["output"] == "next\n"
