"""Commands as a client sees them: through MCP, with their schemas, progress and cancellation."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell
from tests.rigs.waiting import LIMIT_S, eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIELDS = (
    "commandId paneId command status exitCode output outputBytes outputTruncated timedOut elapsedMs "
    "resourceUri waitingForInput reason"
).split()


async def test_a_command_answers_with_all_that_the_contract_lists(call: Call, pane: Shell) -> None:
    made = await pane()
    answer = await call("execute-command", paneId=made.pane, command="echo hi; false")
    assert list(answer) == FIELDS
    assert (answer["paneId"], answer["command"]) == (made.pane, "echo hi; false")
    assert (answer["status"], answer["exitCode"], answer["output"]) == ("failed", 1, "hi\n")
    assert (answer["outputBytes"], answer["outputTruncated"], answer["timedOut"]) == (3, False, False)
    assert answer["elapsedMs"] >= 0
    same = await call("get-command-result", commandId=answer["commandId"])
    assert same == answer


async def test_the_resource_holds_the_same_answer(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane()
    answer = await call("execute-command", paneId=made.pane, command="seq 1 100", maxOutputBytes=10)
    [content] = (await rig.client.read_resource(answer["resourceUri"])).contents
    whole = json.loads(content.text)  # type: ignore[union-attr]
    assert whole["output"] == "".join(f"{n}\n" for n in range(1, 101))
    assert {**whole, "output": "", "outputTruncated": True} == {**answer, "output": ""}
    listed = {str(row.uri) for row in (await rig.client.list_resources()).resources}
    assert answer["resourceUri"] in listed


async def test_snake_case_and_targets_by_name_work_as_everywhere(call: Call, pane: Shell) -> None:
    made = await pane()
    answer = await call("execute-command", pane_id=f"{made.name}:0.0", command="echo x", timeout_seconds=15)
    assert (answer["paneId"], answer["output"]) == (made.pane, "x\n")


def until(gate: Path) -> str:
    """Return the beginning of a command that waits until this file exists."""
    return f"until [ -e {gate} ]; do sleep 0.1; done"


async def test_who_waits_is_told_of_progress(rig: Rig, pane: Shell, tmp_path: Path) -> None:
    made, gate = await pane(), tmp_path / "gate"
    told: list[float] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        if len(told) == 2:
            gate.touch()

    await rig.client.call_tool(
        "execute-command",
        {"paneId": made.pane, "command": until(gate)},
        read_timeout_seconds=LIMIT_S,
        progress_callback=heard,
    )
    assert len(told) >= 2
    assert told == sorted(told)


async def test_a_call_that_is_given_up_leaves_the_command_running(
    rig: Rig, call: Call, pane: Shell, tmp_path: Path
) -> None:
    made, gate = await pane(), tmp_path / "gate"
    command = f"{until(gate)}; echo done"
    asked = asyncio.create_task(
        rig.client.call_tool("execute-command", {"paneId": made.pane, "command": command})
    )

    async def begun() -> list[object]:
        rows: list[object] = (await call("list-commands", paneId=made.pane))["commands"]
        return rows

    await eventually(begun)
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    [row] = (await call("list-commands", paneId=made.pane))["commands"]
    gate.touch()
    ended = await call("get-command-result", commandId=row["commandId"], waitMs=15000)
    assert (ended["status"], ended["output"]) == ("completed", "done\n")


async def test_two_panes_do_not_wait_for_each_other(call: Call, pane: Shell, tmp_path: Path) -> None:
    slow, quick, gate = await pane(), await pane(), tmp_path / "gate"
    waiting = asyncio.create_task(
        call("execute-command", paneId=slow.pane, command=f"{until(gate)}; echo slow")
    )
    assert (await call("execute-command", paneId=quick.pane, command="echo quick"))["output"] == "quick\n"
    assert not waiting.done()
    gate.touch()
    assert (await waiting)["output"] == "slow\n"


async def test_a_dead_tmux_is_an_error_that_says_so(fails: Fails) -> None:
    words = await fails("execute-command", paneId="%0", command="true", socket="/tmp/mx-none/s")
    assert "No tmux server is running" in words
