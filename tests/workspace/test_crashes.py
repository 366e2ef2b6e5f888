"""A muxpilot that is killed while it opens a named pane leaves nothing that the next one does not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.durability.test_crash_points import is_killed_during
from tests.rigs.crash_points import CrashPlan
from tests.rigs.muxpilots import one_server
from tests.rigs.wire import Place
from tests.workspace.test_named_panes import run

MOST_STEPS = 60


def find_strays(place: Place) -> list[str]:
    """Return the panes of the workspace that have no name, not the window's name, or no owner."""
    form = "#{pane_id} #{session_id} #{window_name}|#{@muxpilot_pane}|#{pane_id} |#{@muxpilot_owner}"
    rows = place.tmux("list-panes", "-s", "-t", "=agent-home", "-F", form).splitlines()
    cells = [row.split("|") for row in rows]
    return [str(row) for row in cells if row[0] != row[1] or not row[3].startswith(row[2])]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_first", [True, False], ids=["the first pane", "another pane"])
async def test_a_kill_at_any_step_of_opening_a_pane_leaves_no_window_without_a_name(
    place: Place, *, is_first: bool
) -> None:
    plan, step, is_killed, killed_at = CrashPlan(Path(place.socket).parent), 0, True, []
    place.tmux("new-session", "-d", "-s", "persons", "cat")
    while is_killed and step < MOST_STEPS:
        step += 1
        name = "main" if is_first else f"pane{step}"
        async with plan.serve(place) as wire:
            await wire.shake_hands()
            if not is_first:
                await run(wire, "true")
            await wire.call("list-sessions")
            plan.arm(step)
            is_killed = await is_killed_during(wire, run(wire, "true", paneId=name))
            killed_at += plan.disarm()[-1:]
        async with one_server(place) as wire:
            answer = await run(wire, "echo usable", paneId=name, timeoutSeconds=20)
            assert (answer["output"], answer["pane"]) == ("usable\n", name), (step, answer)
        assert find_strays(place) == [], (step, killed_at)
        if is_first:
            place.tmux("kill-session", "-t", "=agent-home")
    assert not is_killed
    assert step > 4  # it was killed at several steps
