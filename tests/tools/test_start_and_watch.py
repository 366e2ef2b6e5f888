"""start-and-watch through MCP: types a command and reports its ready line, its failure or its end."""

from __future__ import annotations

import pytest

from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_command_is_started_and_its_ready_line_awaited(call: Call, pane: Shell) -> None:
    made = await pane()
    command = "echo starting; sleep 0.2; echo Local: http; exec sleep 60"
    answer = await call("start-and-watch", paneId=made.pane, command=command, pattern="Local:.*http|ready in")
    assert answer["event"] == "pattern:Local:.*http|ready in"
    assert answer["detail"] == "Ready — matched: Local: http"
    assert answer["output"] == "starting\nLocal: http"
    assert answer["paneState"]["isAlive"] is True


async def test_a_command_without_a_pane_gets_the_pane_main(call: Call, rig: Rig) -> None:
    answer = await call("start-and-watch", command="echo re''ady; exec sleep 60", pattern="ready")
    assert answer["event"] == "pattern:ready"
    assert answer["output"] == "ready"
    assert (answer["pane"], answer["created"]) == ("main", True)
    size = rig.raw("display-message", "-p", "-t", answer["paneId"], "#{window_width}x#{window_height}")
    assert size == "200x50"
    await call("kill-pane", paneId=answer["paneId"])


@pytest.mark.parametrize(
    "command", ["true error: x needle", "sleep 0.4 # fatal needle", f"true {'error: needle ' * 40}"]
)
async def test_the_echo_of_the_command_never_counts(call: Call, pane: Shell, command: str) -> None:
    made = await pane()
    answer = await call("start-and-watch", paneId=made.pane, command=command, pattern="needle")
    assert (answer["event"], "needle" in answer["output"]) == ("exit", False)


@pytest.mark.parametrize("command", ["echo ready", "printf ready", "clear; echo ready; clear"])
async def test_output_that_comes_at_once_is_not_missed(call: Call, pane: Shell, command: str) -> None:
    made = await pane()
    answer = await call("start-and-watch", paneId=made.pane, command=command, pattern="^ready")
    assert answer["event"] == "pattern:^ready"


async def test_a_started_command_that_fails_is_told(call: Call, pane: Shell) -> None:
    made = await pane()
    answer = await call(
        "start-and-watch", paneId=made.pane, command="cat /no/such/file; sleep 1; echo failed", pattern="x{9}"
    )
    assert (answer["event"], answer["detail"]) == ("error", "Matched error pattern: failed")


async def test_a_started_command_that_ends_is_told_with_its_code(call: Call, pane: Shell) -> None:
    made = await pane()
    answer = await call("start-and-watch", paneId=made.pane, command="echo bye; (exit 3)", pattern="never")
    assert answer["detail"] == "Process exited with code 3 (the shell is back at its prompt)"
    assert answer["output"] == "bye"


async def test_a_started_command_that_is_not_complete_is_told(call: Call, pane: Shell) -> None:
    made = await pane()
    answer = await call("start-and-watch", paneId=made.pane, command="echo 'never closed", pattern="x")
    assert answer["event"] == "user_input"
    assert answer["detail"].startswith("The command is not complete")


async def test_a_shell_inside_the_command_is_not_its_end(call: Call, pane: Shell) -> None:
    made = await pane()
    started = {"paneId": made.pane, "command": "sh", "pattern": "never"}
    assert (await call("start-and-watch", triggers="exit,shell", **started))["event"] == "shell"


async def test_a_busy_pane_is_not_typed_into(fails: Fails, rig: Rig, pane: Shell) -> None:
    made = await pane("printf go; exec cat")
    await rig.wait_until_shown(made.pane, "go")
    words = await fails("start-and-watch", paneId=made.pane, command="echo never", pattern="x")
    assert f"Pane '{made.pane}' is occupied. cat is in front" in words
    assert await rig.screen(made.pane) == "go"


async def test_a_command_is_typed_once_the_shell_of_a_new_pane_is_ready(
    call: Call, rig: Rig, name: str
) -> None:
    made = await call("create-session", name=name)
    answer = await call("start-and-watch", paneId=made["paneId"], command="echo re''ady", pattern="^ready")
    assert answer["event"] == "pattern:^ready"
    rig.raw("kill-session", "-t", made["sessionId"])
