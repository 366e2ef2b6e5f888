"""The processes of a pane on another host end with it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from muxpilot.app import build
from muxpilot.config.scope import Scope
from tests.rigs.engine import wait_until
from tests.rigs.requests import counted_requests
from tests.rigs.stubborn import KINDS
from tests.rigs.waiting import is_running
from tests.rigs.witnesses import left_of, stubborn_command, wait_for_pids
from tests.ssh.conftest import RemoteHost, run_host

LIMIT_S = 60  # ssh, and a new Python on a busy machine

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_processes_of_a_far_pane_are_ended_and_told(far: RemoteHost) -> None:
    file = far.folder / "pids"
    beside = await far.call("create-session", name="beside", command="exec sleep 600")
    made = await far.call("create-session", name="stubborn", command=stubborn_command(file))
    pids = await wait_for_pids(file, KINDS)
    answer = await far.call("kill-session", sessionId=made["sessionId"])
    assert left_of(pids) == []
    told = {row["pid"]: row["signal"] for row in answer["processes"]}
    assert told[pids["all+setsid+twice"]] == "SIGKILL"
    assert told[pids["plain+setsid"]] == "SIGTERM"
    assert pids["plain"] not in told
    pane = int(far.raw("display-message", "-p", "-t", beside["paneId"], "#{pane_pid}"))
    assert is_running(pane)
    await far.call("kill-session", sessionId="beside")


async def test_a_far_kill_is_two_round_trips_however_stubborn_the_processes_are(far: RemoteHost) -> None:
    """One lists the panes, and one runs the script that kills and escalates there."""
    file = far.folder / "counted"
    await far.call("create-session", name="beside", command="exec sleep 600")
    made = await far.call("create-session", name="counted", command=stubborn_command(file))
    pids = await wait_for_pids(file, KINDS)
    assert far.app is not None
    with counted_requests(far.app.servers.get(None)) as requests:
        answer = await far.call("kill-pane", paneId=made["paneId"])
    assert left_of(pids) == []
    assert {row["signal"] for row in answer["processes"]} == {"SIGTERM", "SIGKILL"}
    assert requests == ["list-panes", "run-shell"]
    await far.call("kill-session", sessionId="beside")


async def test_a_far_pane_that_is_respawned_keeps_its_new_program(far: RemoteHost) -> None:
    file = far.folder / "respawned"
    kinds = ("hup", "all+setsid+twice")
    made = await far.call("create-session", name="again", command=stubborn_command(file, kinds))
    pids = await wait_for_pids(file, kinds)
    answer = await far.call("respawn-pane", paneId=made["paneId"], command="exec sleep 600", kill=True)
    assert left_of(pids) == []
    assert {row["pid"] for row in answer["processes"]} == set(pids.values())
    state = await far.call("pane-state", paneId=made["paneId"])
    assert (state["isAlive"], state["foregroundCmd"]) == (True, "sleep")
    await far.call("kill-session", sessionId="again")


async def test_the_debug_dialect_ends_processes_on_another_host_too() -> None:
    """By tmux_kill_pane, and all that is left when the server ends."""
    kinds = ("hup", "all+setsid+twice")
    with run_host() as host:
        app = build(replace(host.settings(), scope=Scope.DEBUG))
        started = []
        try:
            await app.start()
            for name in ("killed", "left"):
                command = {"command": stubborn_command(host.folder / name, kinds), "name": name}
                assert not (await app.dispatch.call("tmux_create_pane", command)).is_error
                started.append(await wait_for_pids(host.folder / name, kinds))
            killed, left = started
            answer = await app.dispatch.call("tmux_kill_pane", {"pane_id": "debug-1"})
            assert not answer.is_error, answer.text
            assert (left_of(killed), left_of(left)) == ([], list(kinds))
        finally:
            await app.close()
        await wait_until(lambda: left_of(left) == [])  # the script goes on without us


def run_there(far: RemoteHost, *argv: str) -> Any:
    """Run a muxpilot of its own on the tmux of the other host. Return the JSON that it prints."""
    where = ("--ssh", far.sshd.arguments, "--socket", far.socket)
    command = [sys.executable, "-m", "muxpilot", *where, *argv]
    done = subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=True, env=dict(os.environ))
    return json.loads(done.stdout)


async def test_clean_ends_what_a_muxpilot_has_left_on_another_host() -> None:
    with run_host() as far:
        for name, more in (("left", {}), ("busy", {"command": "exec sleep 600"})):
            made = json.dumps({"name": name, **more})
            await asyncio.to_thread(run_there, far, "call", "create-session", made)
        far.raw("new-session", "-d", "-s", "persons")
        await far.shows("left:", "far$")
        dry = await asyncio.to_thread(run_there, far, "clean", "--dry-run", "--json")
        assert [(row["sessionName"], row["processes"]) for row in dry["ended"]] == [("left", [])]
        assert {row["sessionName"]: row["reason"] for row in dry["kept"]} == {"busy": "sleep runs in it"}
        done = await asyncio.to_thread(run_there, far, "clean", "--json", "--running")
        assert {row["sessionName"] for row in done["ended"]} == {"left", "busy"}
        assert far.raw("list-sessions", "-F", "#{session_name}") == "persons"


async def test_a_session_on_another_host_ends_when_nothing_uses_it_any_more() -> None:
    with run_host() as host:
        far = RemoteHost(host.sshd, host.folder, build(host.settings()))
        assert far.app is not None
        try:
            await far.app.start()
            far.raw("new-session", "-d", "-s", "persons")
            await far.call("create-session", name="busy", command="exec sleep 600", ttlMinutes=0.02)
            made = await far.call("create-session", name="jobs", ttlMinutes=0.02)
            far.raw("send-keys", "-t", made["paneId"], "setsid sleep 6000 &", "Enter")
            await far.call("create-session", name="unused", ttlMinutes=0.02)
            await wait_until(lambda: _sessions(far) == ["busy", "jobs", "persons"])
        finally:
            await far.app.close()


def _sessions(far: RemoteHost) -> list[str]:
    names = far.raw("list-sessions", "-F", "#{session_name}").split()
    return [name for name in names if "hub" not in name]
