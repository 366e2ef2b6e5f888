"""Triggers on the foreground program: it waits for input, or ends."""

from __future__ import annotations

import pytest

from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Shell
from tests.rigs.waiting import eventually
from tests.rigs.watching import wait_for_report, watch_and_type

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_program_that_begins_to_read_is_told(call: Call, rig: Rig, pane: Shell) -> None:
    made = await pane("printf go; sleep 0.5; read -r x")
    await rig.wait_until_shown(made.pane, "go")
    report = await watch_and_type(call, made.pane, "user_input")
    assert (report["event"], report["paneState"]["waitingFor"]) == ("user_input", "line")


@pytest.mark.parametrize(
    ("command", "event"),
    [("read -r x", "user_input"), ("stty -echo; printf Password:; read -r x", "password")],
)
async def test_a_password_is_told_apart(call: Call, pane: Shell, command: str, event: str) -> None:
    made = await pane(f"{command}; exec sleep 60")
    assert (await call("watch-pane", paneId=made.pane, triggers="password,user_input"))["event"] == event


async def test_a_shell_at_its_prompt_is_no_program_that_waits(call: Call, pane: Shell) -> None:
    made = await pane()
    answer = await call("watch-pane", paneId=made.pane, triggers="user_input,password", timeout=0.5)
    assert answer["event"] == "timeout"
    answer = await call("watch-pane", paneId=made.pane, triggers="user_input,shell")
    assert (answer["event"], answer["paneState"]["waitingFor"]) == ("shell", "shell")


@pytest.mark.parametrize(
    "command", ["sleep 0.3", "/bin/true", "seq 1 30000", "sleep 0.1; seq 1 10; sleep 0.2"]
)
async def test_the_end_of_a_foreground_command_is_an_exit(call: Call, pane: Shell, command: str) -> None:
    made = await pane()
    report = await watch_and_type(call, made.pane, "exit", command)
    assert report["event"] == "exit"
    assert report["detail"].startswith("Process exited with code 0 (")
    assert report["paneState"]["waitingFor"] == "shell"


async def test_the_exit_code_of_a_foreground_command_is_told_where_its_shell_tells_it(
    call: Call, rig: Rig, pane: Shell, name: str
) -> None:
    made = await pane()
    assert (await call("watch-pane", paneId=made.pane, triggers="shell"))["event"] == "shell"
    report = await watch_and_type(call, made.pane, "exit", "sh -c 'sleep 0.3; exit 4'")
    assert report["detail"].startswith("Process exited with code 4 (")
    person = rig.session_of_a_person(name)
    assert (await call("watch-pane", paneId=person.pane, triggers="shell"))["event"] == "shell"
    report = await watch_and_type(call, person.pane, "exit", "sh -c 'sleep 0.3; exit 4'")
    assert report["detail"].startswith("Process exited, its code is not known (")
    rig.raw("kill-session", "-t", person.session)


async def test_a_command_that_goes_on_is_no_exit(call: Call, pane: Shell) -> None:
    made = await pane()
    report = await watch_and_type(
        call, made.pane, "exit,pattern:END", "echo a; sleep 0.4; echo b; sleep 0.4; printf E; echo ND"
    )
    assert report["event"] == "pattern:END"


async def test_the_end_of_the_panes_program_is_an_exit_with_its_code(
    call: Call, rig: Rig, pane: Shell
) -> None:
    made = await pane("printf go; read -r x; printf bye; exit 7")
    await rig.wait_until_shown(made.pane, "go")
    report = await watch_and_type(call, made.pane, "exit", "x")
    assert report["event"] == "exit"
    assert report["detail"].startswith("Process exited with code 7 (")
    assert report["output"].endswith("bye")
    assert (report["paneState"]["isAlive"], report["paneState"]["exitCode"]) == (False, 7)


async def test_a_pane_that_is_dead_already_is_an_exit_at_once(call: Call, rig: Rig, name: str) -> None:
    person = rig.session_of_a_person(name)
    rig.raw("set-option", "-p", "-t", person.pane, "remain-on-exit", "on")
    rig.raw("respawn-pane", "-k", "-t", person.pane, "exit 6")

    async def is_dead() -> bool:
        return bool((await call("pane-state", paneId=person.pane))["exitCode"] == 6)

    await eventually(is_dead)
    answer = await call("watch-pane", paneId=person.pane, triggers="pattern:x,exit")
    assert answer["detail"] == "Process exited with code 6 (its program had ended already)"
    assert (answer["paneState"]["isAlive"], answer["paneState"]["exitCode"]) == (False, 6)
    answer = await call("wait-for-pane-change", paneId=person.pane, timeoutMs=100)
    assert (answer["changed"], answer["timedOut"]) == (False, True)
    rig.raw("kill-session", "-t", person.session)


async def test_a_watch_ends_with_its_pane_also_if_exit_was_not_asked_for(
    call: Call, rig: Rig, pane: Shell
) -> None:
    made = await pane("printf go; read -r x")
    await rig.wait_until_shown(made.pane, "go")
    assert (await watch_and_type(call, made.pane, "pattern:never", "x"))["event"] == "exit"


async def test_a_killed_pane_is_an_exit(call: Call, pane: Shell, rig: Rig) -> None:
    made = await pane("exec sleep 60")
    watch = (await call("notify-when", paneId=made.pane, triggers="exit,error", timeout=60))["watchId"]
    rig.raw("kill-pane", "-t", made.pane)
    report = await wait_for_report(call, watch)
    assert (report["event"], report["paneState"]["isAlive"]) == ("exit", False)
