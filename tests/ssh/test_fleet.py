"""One command in many panes, here and on another host."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from muxpilot.config.model import SecuritySettings, ServerEntry, Settings
from muxpilot.config.scope import Scope
from tests.rigs.waiting import end_server
from tests.ssh.conftest import RemoteHost, run_muxpilot

pytestmark = pytest.mark.asyncio(loop_scope="module")


def settings(far: RemoteHost, **more: object) -> Settings:
    servers = {"build": far.entry(), "gone": ServerEntry(ssh="-F /dev/null -p 1 127.0.0.1")}
    return Settings(scope=Scope.ALL, socket=str(far.folder / "here"), servers=servers, **more)  # type: ignore[arg-type]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet(far: RemoteHost) -> AsyncIterator[RemoteHost]:
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    async with run_muxpilot(far, settings(far)) as fleet:
        yield fleet
    end_server("tmux", str(far.folder / "here"))


async def panes(fleet: RemoteHost) -> tuple[str, str]:
    here = (await fleet.call("create-session", name="here"))["paneId"]
    there = (await fleet.call("create-session", name="there", socket="build"))["paneId"]
    return here, there


async def test_a_command_runs_here_and_there_and_one_trouble_loses_no_other_answer(fleet: RemoteHost) -> None:
    here, there = await panes(fleet)
    places = [
        {"paneId": there, "socket": "build"},
        {"paneId": "%999"},
        {"paneId": here},
        {"paneId": "%0", "socket": "gone"},
    ]
    answer = await fleet.call("run-on", command="echo $((6 * 7))", panes=places)
    assert [row["status"] for row in answer["results"]] == ["completed", "lost", "completed", "lost"], answer
    assert [row["output"] for row in answer["results"]] == ["42\n", "", "42\n", ""]
    assert "not found" in answer["results"][1]["reason"]
    assert "cannot be reached" in answer["results"][3]["reason"]
    assert (answer["completed"], answer["failed"]) == (2, 2)


async def test_each_pane_has_its_own_exit_code_and_command(fleet: RemoteHost) -> None:
    here, there = await panes(fleet)
    await fleet.call("run-on", command="cd /", panes=[{"paneId": here}])
    await fleet.call("run-on", command="cd /usr", panes=[{"paneId": there, "socket": "build"}])
    places = [{"paneId": here}, {"paneId": there, "socket": "build"}]
    answer = await fleet.call("run-on", command="[ $PWD = / ]", panes=places, maxParallel=1)
    assert [row["exitCode"] for row in answer["results"]] == [0, 1]
    assert (answer["completed"], answer["failed"]) == (1, 1)
    ids = [row["commandId"] for row in answer["results"]]
    told = await fleet.call("get-command-result", commandId=ids[1])
    assert (told["status"], told["paneId"]) == ("failed", there)


async def test_a_time_limit_leaves_commands_running(fleet: RemoteHost) -> None:
    here, _ = await panes(fleet)
    answer = await fleet.call("run-on", command="sleep 30", panes=[{"paneId": here}], timeoutSeconds=0.3)
    [row] = answer["results"]
    assert (row["status"], row["timedOut"], answer["completed"], answer["failed"]) == ("running", True, 0, 0)
    await fleet.call("cancel-command", commandId=row["commandId"])


async def test_a_pane_that_is_named_twice_runs_it_twice_in_turn(fleet: RemoteHost) -> None:
    here, _ = await panes(fleet)
    await fleet.call("run-on", command="n=0", panes=[{"paneId": here}])
    places = [{"paneId": here}, {"paneId": here, "socket": "default"}]
    answer = await fleet.call("run-on", command="n=$((n + 1)); echo $n", panes=places)
    assert sorted(row["output"] for row in answer["results"]) == ["1\n", "2\n"]
    assert (answer["completed"], answer["failed"]) == (2, 0)


async def test_no_more_run_at_a_time_than_asked(fleet: RemoteHost, tmp_path: Path) -> None:
    made = [await fleet.call("create-session", name=f"bound{number}") for number in range(4)]
    (tmp_path / "now").mkdir()
    count = f"cd {tmp_path}/now; touch $$; sleep 0.3; ls | wc -l; rm $$"
    places = [{"paneId": row["paneId"]} for row in made]
    answer = await fleet.call("run-on", command=count, panes=places, maxParallel=2)
    assert answer["completed"] == 4, answer
    assert {int(row["output"]) for row in answer["results"]} <= {1, 2}


async def test_a_server_that_nobody_named_is_told_with_its_pane(fleet: RemoteHost) -> None:
    here, _ = await panes(fleet)
    places = [{"paneId": here, "socket": "buidl"}, {"paneId": here}]
    answer = await fleet.call("run-on", command="true", panes=places)
    assert [row["status"] for row in answer["results"]] == ["lost", "completed"]
    assert "'buidl'" in answer["results"][0]["reason"]


async def test_no_panes_are_an_error(fleet: RemoteHost) -> None:
    assert "'panes'" in await fleet.fails("run-on", command="true", panes=[])


async def test_each_pane_is_judged_by_itself(fleet: RemoteHost) -> None:
    here, there = await panes(fleet)
    security = SecuritySettings(allowed_sockets=(str(fleet.folder / "here"),))
    async with run_muxpilot(fleet, settings(fleet, security=security)) as it:
        places = [{"paneId": here}, {"paneId": there, "socket": "build"}]
        answer = await it.call("run-on", command="echo yes", panes=places)
        assert [row["status"] for row in answer["results"]] == ["completed", "lost"]
        assert "security.allowed_sockets" in answer["results"][1]["reason"]


async def test_a_far_server_is_allowed_by_its_name(fleet: RemoteHost) -> None:
    _, there = await panes(fleet)
    security = SecuritySettings(allowed_sockets=("build",))
    async with run_muxpilot(fleet, settings(fleet, security=security)) as it:
        assert (await it.call("pane-state", paneId=there, socket="build"))["isAlive"]
        assert "security.allowed_sockets" in await it.fails("list-sessions")
