"""start-and-watch in a pane whose shell muxpilot knows already: the usual case."""

from __future__ import annotations

import pytest

from tests.rigs.mcp_fixtures import Call, Shell

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("name", ["bash", "zsh", "fish", "dash"])
async def test_a_ready_line_counts_however_often_the_pane_was_used(
    call: Call, pane: Shell, name: str
) -> None:
    """Print more at once after the line, so that no pause but only the line itself can fire the trigger."""
    made = await pane(name)
    assert (await call("watch-pane", paneId=made.pane, triggers="shell"))["event"] == "shell"
    for turn in range(3):
        command = f"echo re''ady {turn}; seq 1 3"
        answer = await call("start-and-watch", paneId=made.pane, command=command, pattern="^ready")
        assert (answer["event"], answer["detail"]) == ("pattern:^ready", f"Ready — matched: ready {turn}"), (
            answer
        )
