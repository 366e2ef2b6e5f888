"""Hosts that are gone, hang, or break and come back; and connections that must be refused."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from muxpilot.config.model import ServerEntry, Settings
from muxpilot.config.scope import Scope
from muxpilot.errors import NoTmux
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.hosts.far import FarEndpoint
from tests.rigs.waiting import eventually
from tests.ssh.conftest import RemoteHost, run_muxpilot

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def keeper(far: RemoteHost) -> AsyncIterator[None]:
    yield


@pytest.fixture(autouse=True)
def mended(far: RemoteHost) -> object:
    """Restore the host after each test."""
    yield
    far.sshd.thaw()
    if far.sshd.process is None:
        far.sshd.start()


async def wait_until_heard(far: RemoteHost, pane: str, *, wanted: bool) -> None:
    """Wait until the stream of a pane is connected, or is not."""
    assert far.app is not None
    streams = far.app.servers.default.streams

    async def is_so() -> bool:
        return streams.is_receiving(PaneId(pane)) is wanted

    await eventually(is_so)


async def test_a_broken_connection_is_made_again_and_what_ran_is_found(far: RemoteHost) -> None:
    pane = await far.pane()
    assert (await far.run(pane, "true"))["exitCode"] == 0
    go_on = far.folder / "go-on"
    waiting = f"until [ -e {go_on} ]; do sleep 0.1; done; echo still; sh -c 'exit 9'"
    running = await far.run(pane, waiting, timeoutSeconds=0.2)
    assert running["status"] == "running"
    far.sshd.break_connections()
    for wanted in (False, True):
        await wait_until_heard(far, pane, wanted=wanted)
    go_on.touch()
    ended = await far.call("get-command-result", commandId=running["commandId"], waitMs=20000)
    assert (ended["status"], ended["exitCode"]) == ("failed", 9), ended
    assert (ended["output"], ended["outputTruncated"]) == ("still\n", False)
    assert (await far.run(pane, "echo again"))["output"] == "again\n"


async def test_the_first_command_after_a_break_is_seen_to_its_end(far: RemoteHost) -> None:
    pane = await far.pane()
    await far.run(pane, "true")
    far.sshd.break_connections()
    await wait_until_heard(far, pane, wanted=False)
    ran = await far.run(pane, "echo first; sh -c 'exit 3'")
    assert (ran["output"], ran["exitCode"], ran["outputTruncated"]) == ("first\n", 3, False), ran


async def test_a_host_that_is_gone_is_told_and_one_that_is_back_is_used(far: RemoteHost) -> None:
    far.sshd.kill()

    async def refused() -> bool:
        return "cannot be reached" in await far.fails("list-sessions")

    async def is_used() -> bool:
        rows = {row["name"]: row for row in (await far.call("list-servers"))["servers"]}
        return bool(rows["default"]["state"] == "connected")

    await eventually(refused)
    far.sshd.start()
    await eventually(is_used)  # an attempt that began before is still refused
    assert (await far.call("list-sessions"))["sessions"]


async def test_a_host_that_hangs_is_told_while_others_answer(
    far: RemoteHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ssh is a stub that never prints anything."""
    monkeypatch.setattr(FarEndpoint, "connect_timeout_s", 5.0)
    stub = tmp_path / "bin" / "ssh"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\nexec sleep 600\n")
    stub.chmod(0o755)
    hangs = ServerEntry(ssh="nowhere.invalid", socket=far.socket)
    settings = Settings(scope=Scope.ALL, socket=str(tmp_path / "s"), servers={"hangs": hangs})
    monkeypatch.setenv("PATH", f"{stub.parent}:{os.environ['PATH']}")
    async with run_muxpilot(far, settings) as it:
        hanging = asyncio.create_task(it.fails("list-sessions", socket="hangs"))
        rows = asyncio.create_task(it.call("list-servers"))
        await asyncio.sleep(0)
        assert await it.call("list-sessions") == {"sessions": []}
        assert not hanging.done()
        assert "ssh did not connect to nowhere.invalid within 5 s" in await hanging
        states = {row["name"]: row for row in (await rows)["servers"]}
        assert (states["default"]["state"], states["hangs"]["state"]) == ("idle", "unreachable")
        assert "ssh did not connect" in states["hangs"]["reason"]


async def test_a_host_that_stops_is_given_up_and_found_again(far: RemoteHost) -> None:
    quick = f"-o ServerAliveInterval=1 -o ConnectTimeout=5 {far.sshd.arguments}"
    async with run_muxpilot(far, Settings(scope=Scope.ALL, socket=far.socket, ssh=quick)) as it:
        assert (await it.call("list-sessions"))["sessions"]
        far.sshd.freeze()
        assert "cannot be reached" in await it.fails("list-sessions")
        far.sshd.thaw()
        assert (await it.call("list-sessions"))["sessions"]


async def test_a_question_is_an_error_that_says_so(far: RemoteHost) -> None:
    other = far.sshd.arguments.replace(f"-i {far.sshd.folder}/user", "-i /dev/null -o IdentitiesOnly=yes")
    async with run_muxpilot(far, Settings(scope=Scope.ALL, ssh=other)) as it:
        answer = await it.fails("list-sessions")
    assert "requires interactive authentication" in answer
    assert "ssh-agent" in answer


async def test_a_host_whose_key_is_not_known_is_refused(far: RemoteHost) -> None:
    other = far.sshd.arguments.replace("StrictHostKeyChecking=no", "StrictHostKeyChecking=yes")
    other = other.replace(f"UserKnownHostsFile={far.sshd.folder}/known", "UserKnownHostsFile=/dev/null")
    async with run_muxpilot(far, Settings(scope=Scope.ALL, ssh=other)) as it:
        assert "is not trusted" in await it.fails("list-sessions")


async def test_a_host_without_tmux_is_told(far: RemoteHost) -> None:
    async with Tmux(far.socket, ssh=far.sshd.arguments, binary="no-such-tmux") as tmux:
        with pytest.raises(NoTmux, match="no tmux on"):
            await tmux.sessions.list()


async def test_nothing_is_left_there_when_we_leave(far: RemoteHost) -> None:
    assert (await far.call("list-sessions"))["sessions"]  # its own hub may have ended with the host
    before = hubs(far)
    async with run_muxpilot(far, far.settings()) as it:
        assert (await it.call("list-sessions"))["sessions"]
        ours = hubs(far) - before
        assert ours

    async def is_gone() -> bool:
        return not ours & hubs(far)

    await eventually(is_gone)


def hubs(far: RemoteHost) -> set[str]:
    names = far.raw("list-sessions", "-F", "#{session_name}").splitlines()
    return {name for name in names if "muxpilot-hub" in name}
