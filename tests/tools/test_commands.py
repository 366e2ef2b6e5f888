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
    "commandId paneId pane status exitCode output outputTruncated timedOut waitingForInput waitingFor "
    "elapsedMs cursor"
).split()


async def test_a_command_answers_with_all_that_the_contract_lists(call: Call, pane: Shell) -> None:
    made = await pane()
    answer = await call("execute-command", paneId=made.pane, command="echo hi; false")
    assert list(answer) == [*FIELDS, "created"]
    assert answer.pop("created") is False
    assert (answer["paneId"], answer["pane"], answer["waitingFor"]) == (made.pane, None, None)
    assert (answer["status"], answer["exitCode"], answer["output"]) == ("failed", 1, "hi\n")
    assert (answer["outputTruncated"], answer["timedOut"]) == (False, False)
    assert answer["elapsedMs"] >= 0
    same = await call("get-command-result", commandId=answer["commandId"])
    assert same == {**answer, "command": "echo hi; false"}


async def test_what_was_printed_after_a_command_is_read_from_its_cursor_on(call: Call, pane: Shell) -> None:
    made = await pane()
    first = await call("execute-command", paneId=made.pane, command="echo before")
    await call("execute-command", paneId=made.pane, command="echo between")
    read = await call("read-pane", paneId=made.pane, since=first["cursor"])
    shown = [line.split()[-1] for line in read["text"].splitlines() if "be" in line]
    assert shown == ["between", "between"]  # the command's echo and its output
    assert read["missedLines"] == 0


async def test_output_that_was_cut_is_read_on_by_its_bytes(call: Call, pane: Shell) -> None:
    made = await pane()
    answer = await call("execute-command", paneId=made.pane, command="seq 1 20000; echo 漢字")
    assert (answer["outputTruncated"], answer["outputBytes"]) == (True, 108894 + 7)
    read, parts = 0, []
    while read < answer["outputBytes"]:
        part = await call(
            "get-command-result", commandId=answer["commandId"], offsetBytes=read, maxOutputBytes=49999
        )
        parts.append(part["output"])
        read += len(part["output"].encode())
    assert "".join(parts) == "".join(f"{n}\n" for n in range(1, 20001)) + "漢字\n"
    assert len(parts) == 3


async def test_a_wait_of_zero_answers_at_once_and_has_not_timed_out(
    call: Call, pane: Shell, tmp_path: Path
) -> None:
    made, gate = await pane(), tmp_path / "gate"
    await call("execute-command", paneId=made.pane, command="true")
    began = asyncio.get_running_loop().time()
    answer = await call("execute-command", paneId=made.pane, command=until(gate), waitMs=0)
    assert asyncio.get_running_loop().time() - began < LIMIT_S / 2
    assert answer["status"] in ("queued", "running")
    assert not answer["timedOut"]
    again = await call("get-command-result", commandId=answer["commandId"])
    assert not again["timedOut"]
    gate.touch()
    assert (await call("get-command-result", commandId=answer["commandId"], waitMs=15000))["exitCode"] == 0


async def test_the_resource_holds_the_same_answer(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane()
    answer = await call("execute-command", paneId=made.pane, command="seq 1 100", maxOutputBytes=10)
    [content] = (await rig.client.read_resource(answer["resourceUri"])).contents
    whole = json.loads(content.text)  # type: ignore[union-attr]
    assert whole["output"] == "".join(f"{n}\n" for n in range(1, 101))
    assert {key: whole[key] for key in FIELDS if key not in ("output", "outputTruncated")} == {
        key: answer[key] for key in FIELDS if key not in ("output", "outputTruncated")
    }
    assert (whole["outputTruncated"], whole["command"]) == (False, "seq 1 100")
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
