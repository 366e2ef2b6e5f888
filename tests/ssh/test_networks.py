"""A fleet of hosts, one of which is cut off and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from muxpilot.app import build
from muxpilot.config.model import ServerEntry, Settings
from muxpilot.config.scope import Scope
from muxpilot.tmux import PaneId
from tests.rigs.waiting import LIMIT_S, eventually
from tests.ssh.conftest import RemoteHost
from tests.ssh.networks import Host, run_hosts

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAMES = ("web", "db", "cache")
# ssh notices that a host is cut off after four to six seconds, instead of fifteen. To connect it has the
# usual time: three hosts at once take a busy machine long.
QUICK = "-o ServerAliveInterval=2"


@pytest.fixture(scope="module")
def fleet() -> Iterator[list[Host]]:
    with run_hosts(*NAMES) as fleet:
        yield fleet


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def far(fleet: list[Host], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RemoteHost]:
    """The muxpilot that uses all hosts; `call` and the other methods are its own."""
    servers = {
        host.name: ServerEntry(f"{QUICK} {host.far.sshd.arguments}", host.far.socket) for host in fleet
    }
    here = tmp_path_factory.mktemp("here") / "s"
    app = build(Settings(scope=Scope.ALL, socket=str(here), servers=servers))
    yield RemoteHost(fleet[0].far.sshd, fleet[0].far.folder, app)
    await app.close()


async def panes(far: RemoteHost) -> list[dict[str, str]]:
    """Create a pane on each host."""
    far.count += 1
    name = f"s{far.count}"
    made = await asyncio.gather(*(far.call("create-session", name=name, socket=host) for host in NAMES))
    return [{"paneId": row["paneId"], "socket": host} for row, host in zip(made, NAMES, strict=True)]


async def all_there(folder: Path) -> bool:
    return {path.name for path in folder.iterdir()} >= set(NAMES)


async def is_heard(far: RemoteHost, row: dict[str, Any]) -> bool:
    """Return whether the stream of a pane is connected."""
    assert far.app is not None
    return far.app.servers.get("db").streams.is_receiving(PaneId(row["paneId"]))


def column(answer: dict[str, Any], name: str) -> list[Any]:
    return [row[name] for row in answer["results"]]


async def test_a_command_runs_on_all_hosts_at_the_same_time(far: RemoteHost, tmp_path: Path) -> None:
    """Each command waits for the others: one after the other, they would never end."""
    places = await panes(far)
    (tmp_path / "meeting").mkdir()
    meet = f"cd {tmp_path}/meeting; touch $(hostname); until [ $(ls | wc -l) = 3 ]; do sleep 0.05; done"
    answer = await far.call("run-on", command=f"{meet}; hostname", panes=places[::-1])
    assert column(answer, "output") == [f"{name}\n" for name in NAMES[::-1]], answer
    assert (answer["completed"], answer["failed"]) == (3, 0)


async def test_a_host_that_is_cut_off_holds_no_other_back_and_is_found_again(
    far: RemoteHost, fleet: list[Host], tmp_path: Path
) -> None:
    """It takes some seconds, because a cut link is only noticed by missing answers."""
    go_on, others = tmp_path / "go-on", await panes(far)
    begin = f"touch {tmp_path}/$(hostname)"
    waiting = f"{begin}; until [ -e {go_on} ]; do sleep 0.1; done; sh -c 'exit 7'"
    running = await far.call("run-on", command=waiting, panes=await panes(far), timeoutSeconds=0)
    await eventually(partial(all_there, tmp_path))

    fleet[1].link.cut()
    asked = [
        asyncio.create_task(far.call("run-on", command="hostname", panes=others)),
        asyncio.create_task(far.call("list-servers")),
    ]
    for name in ("web", "cache"):
        assert (await far.call("list-sessions", socket=name))["sessions"]
    assert not any(task.done() for task in asked)
    async with asyncio.timeout(2 * LIMIT_S):
        answer, servers = await asyncio.gather(*asked)
    assert column(answer, "status") == ["completed", "lost", "completed"], answer
    assert column(answer, "output") == ["web\n", "", "cache\n"]
    assert fleet[1].link.there in answer["results"][1]["reason"]
    states = {row["name"]: row["state"] for row in servers["servers"]}
    assert states == {"default": "idle", "web": "connected", "db": "unreachable", "cache": "connected"}

    fleet[1].link.restore()
    await eventually(partial(is_heard, far, running["results"][1]))
    go_on.touch()
    ended = [
        await far.call("get-command-result", commandId=identity, waitMs=20_000)
        for identity in column(running, "commandId")
    ]
    assert [(row["status"], row["exitCode"]) for row in ended] == [("failed", 7)] * 3, ended
    assert [row["outputTruncated"] for row in ended] == [False] * 3
    again = await far.call("run-on", command="hostname", panes=others)
    assert column(again, "output") == [f"{name}\n" for name in NAMES], again
