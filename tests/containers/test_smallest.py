"""A container that has /bin/sh, cat and tmux, and nothing else."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from muxpilot.app import build
from tests.containers.conftest import Inside, far_settings, muxpilot_in
from tests.rigs.namespaces import NEEDED, Container, run_container
from tests.rigs.waiting import LIMIT_S, eventually, is_running

# How the hub session there learns that the connection has ended.
WAYS: dict[str, dict[str, Any]] = {
    "a pipe in /proc": {"has_only": NEEDED},
    "a word of the shell": {"has_only": NEEDED, "has_proc": False},
    "a FIFO": {"has_only": (*NEEDED, "mkdir", "mkfifo", "rm")},
}
PROGRAM = """
import asyncio, sys
from muxpilot.app import build
from muxpilot.timing import HeartbeatTiming
from muxpilot.tmux.hosts.exec_command import ExecRoute
from tests.containers.conftest import far_settings

async def main():
    ExecRoute.heartbeat = HeartbeatTiming(0.2, 5.0)
    app = build(far_settings(sys.argv[1]))
    answer = await app.dispatch.call("execute-command", {"paneId": "work:0.0", "command": "echo ready"})
    print(answer.text, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture(params=WAYS)
def smallest(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Container]:
    monkeypatch.setenv("HOME", "/root")
    monkeypatch.setenv("MX_SECRET_TOKEN", "sesame")
    with run_container(**WAYS[request.param]) as container:
        yield container


async def sessions(container: Container) -> list[str]:
    return container.tmux("list-sessions", "-F", "#{session_name}").splitlines()


async def test_commands_are_run_and_nothing_is_left_behind(smallest: Container) -> None:
    async with muxpilot_in(smallest) as it:
        pane = await it.pane("work")
        told = await it.run(pane, "echo $((6 * 7)); (exit 3)")
        assert (told["output"], told["exitCode"]) == ("42\n", 3)
        read = await it.call("read-pane", paneId=pane)
        assert "42" in read["text"]
        assert len(await sessions(smallest)) == 2, "ours is beside it"
        processes = set(smallest.processes())
    assert await sessions(smallest) == ["work"]
    assert [path.name for path in (smallest.root / "tmp").iterdir()] == [f"tmux-{os.getuid()}"]

    async def are_three_left() -> bool:
        """Return whether only the container, tmux and the shell of the pane are left."""
        return len([pid for pid in smallest.processes() if pid in processes and is_running(pid)]) == 3

    await eventually(are_three_left)


async def test_a_muxpilot_that_is_killed_leaves_nothing_behind(smallest: Container) -> None:
    async with muxpilot_in(smallest) as it:
        await it.pane("work")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, smallest.command, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(LIMIT_S):
        assert b"ready" in await process.stdout.readline()
    assert len(await sessions(smallest)) == 2
    process.send_signal(signal.SIGKILL)
    await process.wait()

    async def is_alone() -> bool:
        running = [pid for pid in smallest.processes() if is_running(pid)]
        return await sessions(smallest) == ["work"] and len(running) == 3

    # tmux 3.3a may keep a client that it had more to tell: without a heartbeat that ends.
    await eventually(is_alone, limit_s=60)


async def test_a_user_without_a_login_shell_gets_sh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHELL")
    monkeypatch.setenv("HOME", "/root")
    with run_container(has_only=(*NEEDED, "id")) as container:
        (container.root / "etc").mkdir(exist_ok=True)
        (container.root / "etc/passwd").write_text("other:x:1:1::/:/bin/sh\nroot:x:0:0::/root:/bin/nologin\n")
        (container.root / "bin/nologin").write_text("#!/bin/sh\nexit 1\n")
        (container.root / "bin/nologin").chmod(0o755)
        async with muxpilot_in(container) as it:
            told = await it.run(await it.pane("work"), "echo lives; (exit 2)")
    assert (told["output"], told["exitCode"]) == ("lives\n", 2)


async def test_no_variable_of_ours_that_may_be_secret_reaches_a_pane(smallest: Container) -> None:
    """nsenter passes all variables on, as docker does not."""
    app = build(far_settings(smallest.command))
    it = Inside(smallest, app)
    try:
        told = await it.run(await it.pane("work"), 'echo "<$MX_SECRET_TOKEN$MUXPILOT_FROM>" $HOME')
    finally:
        await app.close()
    assert told["output"] == "<> /root\n"
