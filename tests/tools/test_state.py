"""pane-state through MCP: every field of the answer, and what it reports as unknown."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Shell
from tests.rigs.waiting import end_server, eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIELDS = {
    *("paneId", "panePid", "foregroundPid", "foregroundCmd", "isAlive", "waitingForInput", "waitingFor"),
    *("exitCode", "alternateScreen", "currentPath"),
}


def ask_tmux(rig: Rig, pane: str, form: str) -> str:
    return rig.raw("display-message", "-p", "-t", pane, form)


async def wait_for_state(call: Call, pane: str, *, is_held: bool = False, **wanted: Any) -> dict[str, Any]:
    """Wait until the state has these values, with another process than the pane's in the foreground."""
    last: dict[str, Any] = {}

    async def is_there() -> bool:
        nonlocal last
        last = await call("pane-state", paneId=pane)
        is_apart = last["foregroundPid"] not in (None, last["panePid"])
        return (is_apart or not is_held) and all(last[key] == value for key, value in wanted.items())

    await eventually(is_there)
    return last


async def test_a_shell_at_its_prompt_waits_for_a_command(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane(cwd="/usr")
    pid = int(ask_tmux(rig, made.pane, "#{pane_pid}"))
    state = await wait_for_state(call, made.pane, waitingFor="shell")
    assert state == {
        "paneId": made.pane,
        "panePid": pid,
        "foregroundPid": pid,
        "foregroundCmd": "sh",
        "isAlive": True,
        "waitingForInput": True,
        "waitingFor": "shell",
        "exitCode": None,
        "alternateScreen": False,
        "currentPath": "/usr",
    }


@pytest.mark.parametrize(
    ("command", "front", "waits_for"),
    [
        ("sleep 600", "sh", None),
        ("exec sleep 600", "sleep", None),
        ("cat", "cat", "line"),
        ("sleep 600 | cat", "sh", None),
        ("bash -c 'read -s x'", "bash", "password"),
        ("stty -icanon -echo; exec cat", "cat", "key"),
    ],
)
async def test_a_command_of_ours_is_in_front_and_not_what_holds_it(
    rig: Rig, call: Call, pane: Shell, command: str, front: str, waits_for: str | None
) -> None:
    made = await pane(command)
    state = await wait_for_state(call, made.pane, is_held=True, foregroundCmd=front, waitingFor=waits_for)
    assert set(state) == FIELDS
    assert state["waitingForInput"] is (waits_for is not None)
    assert state["panePid"] == int(ask_tmux(rig, made.pane, "#{pane_pid}"))


async def test_what_a_shell_runs_is_in_front_until_it_ends(call: Call, pane: Shell) -> None:
    made = await pane()
    await call("send-keys", paneId=made.pane, keys="cat", enter=True)
    state = await wait_for_state(call, made.pane, foregroundCmd="cat", waitingFor="line")
    assert state["foregroundPid"] != state["panePid"]
    await call("send-keys", paneId=made.pane, keys="C-d", literal=False)
    state = await wait_for_state(call, made.pane, waitingFor="shell")
    assert state["foregroundPid"] == state["panePid"]


async def test_a_full_screen_program_waits_for_a_key_on_the_alternate_screen(call: Call, pane: Shell) -> None:
    made = await pane("tput smcup; stty -icanon -echo; exec cat")
    state = await wait_for_state(call, made.pane, waitingFor="key", alternateScreen=True)
    assert state["waitingForInput"] is True


async def test_a_pane_that_ended_tells_how(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane()
    rig.raw("set-option", "-p", "-t", made.pane, "remain-on-exit", "on")
    await call("send-keys", paneId=made.pane, keys="exit 3", enter=True)
    state = await wait_for_state(
        call, made.pane, isAlive=False, exitCode=3
    )  # tmux reports the exit code a moment later
    assert set(state) == FIELDS
    rest = {key: state[key] for key in ("foregroundPid", "waitingForInput", "waitingFor")}
    assert rest == {"foregroundPid": None, "waitingForInput": False, "waitingFor": None}


async def test_what_cannot_be_known_is_null_and_says_why(rig: Rig, call: Call, pane: Shell) -> None:
    inner = f"{rig.folder}/inner"
    made = await pane(f"TMUX= exec tmux -S {inner} -f /dev/null new-session cat")
    try:
        state = await wait_for_state(call, made.pane, foregroundCmd="tmux", waitingForInput=None)
        assert state["waitingFor"] is None
        assert state["isAlive"] is True
        assert "tmux" in state["note"]
        assert "not visible" in state["note"]
    finally:
        end_server(shutil.which("tmux") or "tmux", inner)


async def test_a_command_that_waits_in_a_pager_says_how_to_leave_it(
    call: Call, pane: Shell, tmp_path: Path
) -> None:
    (tmp_path / "long").write_text("line\n" * 200)
    made = await pane()
    answer = await call("execute-command", paneId=made.pane, command=f"less {tmp_path}/long")
    assert answer["reason"] == "The pager less is in front. Leave it with q."
    assert (await call("pane-state", paneId=made.pane))["waitingFor"] == "pager"
