"""With a ControlMaster of the person, all our traffic uses one connection."""

from __future__ import annotations

import asyncio
import shlex
import subprocess

import pytest

from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope
from tests.rigs.waiting import LIMIT_S, eventually
from tests.ssh.conftest import RemoteHost, run_muxpilot

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("persist", ["no", "60"])
async def test_all_followed_sessions_share_one_connection(host: RemoteHost, persist: str) -> None:
    path = host.folder / f"master-{persist}"
    master = f"-o ControlMaster=auto -o ControlPath={path} -o ControlPersist={persist}"
    settings = Settings(scope=Scope.ALL, socket=host.socket, ssh=f"{master} {host.sshd.arguments}")
    host.raw("new-session", "-d", "-s", f"keeper-{persist}", "cat")
    async with run_muxpilot(host, settings) as far:
        made = [await far.call("create-session", name=f"{persist}-{number}") for number in range(3)]
        alone = host.sshd.processes
        runs = await asyncio.gather(*(far.run(row["paneId"], "echo $((6 * 7))") for row in made))
        assert [row["output"] for row in runs] == ["42\n"] * 3

        async def is_alone() -> bool:
            """Return whether no connection was added. A program that starts there is an sshd for a moment."""
            return host.sshd.processes <= alone

        await eventually(is_alone)
        await far.text("set-buffer", name="large", content="x" * 50_000)
        assert await far.text("show-buffer", name="large", maxBytes=4) == "xxxx"
    stop = ["ssh", *shlex.split(master), "-O", "exit", *shlex.split(host.sshd.arguments)]
    subprocess.run(stop, capture_output=True, timeout=LIMIT_S, check=False)

    async def is_left() -> bool:
        return "muxpilot-hub" not in host.raw("list-sessions")

    await eventually(is_left)
