"""What works in a container: all that works over ssh."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from muxpilot.app import build
from muxpilot.config.model import ServerEntry, Settings
from muxpilot.config.scope import Scope
from tests.containers.conftest import Inside, muxpilot_in
from tests.rigs.mcp_client import Rig, serving
from tests.rigs.namespaces import Container
from tests.rigs.waiting import LIMIT_S, end_server, eventually
from tests.rigs.wire import serving as serving_wire
from tests.ssh.test_every_tool import play_script

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(container: Container) -> AsyncIterator[Rig]:
    config = f"[servers.box]\nexec = {json.dumps(container.words)}\nsocket = '/tmp/every'\n"
    async with serving("all", config=config) as rig:
        socket = ("-S", "/tmp/every", "-f", "/dev/null")
        container.tmux(*socket, "new-session", "-d", "-s", "keeper", "-x", "200", "-y", "50", "/bin/sh")

        def raw_inside(*args: str) -> str:
            return container.tmux(*socket, *args)

        for raw in (rig.raw, raw_inside):
            raw("set-option", "-g", "default-shell", "/bin/bash")
            raw("set-option", "-g", "automatic-rename", "off")
            raw("rename-window", "-t", "=keeper:", "keeper")
        yield rig


@pytest.mark.timeout(240)  # more than a hundred calls, one after the other
async def test_every_tool_answers_in_a_container_as_it_does_here(rig: Rig) -> None:
    here, there = await play_script(rig, rig.socket), await play_script(rig, "box")
    for mine, theirs in zip(here, there, strict=True):
        assert theirs == mine


async def test_commands_run_inside_and_see_its_files_and_pids(inside: Inside) -> None:
    pane = await inside.pane("work")
    (inside.container.root / "root" / "only-inside").write_text("a file of the container\n")
    told = await inside.run(pane, "cat /root/only-inside; echo $$; sh -c 'exit 7'")
    text, pid = told["output"].splitlines()
    assert (text, told["exitCode"]) == ("a file of the container", 7)
    assert int(pid) < 1000, "pids are counted inside"


async def test_a_watch_and_a_picture_of_a_pane_inside(inside: Inside) -> None:
    pane = await inside.pane("watched")
    told = await inside.call(
        "start-and-watch", paneId=pane, command="echo ready-$((6*7))", pattern="ready-42"
    )
    assert "ready-42" in json.dumps(told), told
    started = await inside.call("notify-when", paneId=pane, triggers="pattern:^la.er$")
    await inside.run(pane, "echo la''ter")

    async def has_fired() -> bool:
        watch = await inside.call("get-watch", watchId=started["watchId"])
        return "later" in json.dumps(watch)

    await eventually(has_fired)
    shown = await inside.app.dispatch.call("screenshot-pane", {"paneId": pane, "output": "svg"})
    assert not shown.is_error, shown.text


async def test_list_servers_shows_the_command_beside_ssh(inside: Inside) -> None:
    [row] = (await inside.call("list-servers"))["servers"]
    assert (row["exec"], row["ssh"], row["state"]) == (inside.container.command, None, "connected")


async def test_run_on_runs_here_and_inside_and_one_that_is_gone_holds_nothing_back(
    container: Container, folder: Path
) -> None:
    servers = {
        "box": ServerEntry(exec=tuple(container.words)),
        "gone": ServerEntry(exec=("sh", "-c", "echo no such container >&2; exit 1")),
    }
    app = build(Settings(scope=Scope.ALL, socket=str(folder / "s"), servers=servers))
    it = Inside(container, app)
    try:
        here = (await it.call("create-session", name="here"))["paneId"]
        there = (await it.call("create-session", name="there", socket="box"))["paneId"]
        panes = [{"paneId": here}, {"paneId": there, "socket": "box"}, {"paneId": "%0", "socket": "gone"}]
        answer = await it.call("run-on", command="echo $((6 * 7))", panes=panes)
    finally:
        await app.close()
        end_server("tmux", str(folder / "s"))
    assert [row["output"] for row in answer["results"]] == ["42\n", "42\n", ""], answer
    assert "no such container" in answer["results"][2]["reason"]


async def test_resources_of_the_default_server_are_read_from_inside(container: Container, home: Path) -> None:
    where = ("--scope", "all", f"--exec={container.command}")
    async with serving_wire(home, *where) as wire:
        await wire.shake_hands()
        made = await wire.call("create-session", name="res")
        await wire.call("execute-command", paneId=made["paneId"], command="echo in''side")
        pane = await wire.result("resources/read", {"uri": f"tmux://pane/{made['paneId']}"})
        info = await wire.result("resources/read", {"uri": "tmux://server/info"})
    assert "inside" in pane["contents"][0]["text"]
    assert json.loads(info["contents"][0]["text"])["exec"] == container.command


def muxpilot(container: Container, home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "muxpilot", f"--exec={container.command}", *args]
    variables = {"HOME": str(home), "PATH": "/usr/bin:/bin:/usr/sbin", "LANG": "C.UTF-8"}
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=LIMIT_S * 3, check=False, env=variables, cwd=home
    )


async def test_the_command_line_works_inside(container: Container, tmp_path: Path) -> None:
    done = muxpilot(container, tmp_path, "run", "--", "echo from the line; sh -c 'exit 5'")
    assert (done.stdout, done.returncode) == ("from the line\n", 5), done.stderr
    told = muxpilot(container, tmp_path, "doctor")
    assert f"tmux server on the default socket by exec {container.command}: " in told.stdout, told.stdout


async def test_two_muxpilots_see_the_same_commands(container: Container, inside: Inside) -> None:
    pane = await inside.pane("shared")
    ran = await inside.run(pane, "echo told once")
    async with muxpilot_in(container) as other:
        told = await other.call("get-command-result", commandId=ran["commandId"])
    assert (told["output"], told["exitCode"]) == ("told once\n", 0)
