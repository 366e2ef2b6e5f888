"""A container of podman that has /bin/sh, cat and tmux, reached by `podman exec -i`."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from muxpilot.app import App, build
from tests.containers.conftest import far_settings
from tests.containers.test_smallest import PROGRAM
from tests.rigs.namespaces import NEEDED
from tests.rigs.podman import PodmanContainer, run_podman
from tests.rigs.waiting import eventually, within

pytestmark = pytest.mark.timeout(240)  # podman takes a second for each step, and more on a busy machine

LIST = 'tmux list-sessions -F "#{session_name}"; for f in /proc/[0-9]*/cmdline; do echo; cat "$f"; done'


@pytest.fixture(scope="module")
def podman() -> Iterator[PodmanContainer]:
    with run_podman(NEEDED) as container:
        yield container


async def call(app: App, tool: str, **arguments: object) -> object:
    answer = await app.dispatch.call(tool, arguments)
    assert not answer.is_error, answer.text
    return answer.structured


async def test_a_container_of_podman_is_used_left_and_told_when_it_is_gone(podman: PodmanContainer) -> None:
    command = shlex.join(podman.words)
    app = build(far_settings(command))
    try:
        await call(app, "create-session", name="work")
        arguments = {"paneId": "work:0.0", "command": "echo in a container; (exit 3)", "timeoutSeconds": 60}
        told = await call(app, "execute-command", **arguments)
        assert isinstance(told, dict)
        assert (told["output"], told["exitCode"]) == ("in a container\n", 3)
    finally:
        await app.close()
    await _check_that_a_killed_muxpilot_leaves_nothing(podman, command)
    app = build(far_settings(command))
    try:
        await call(app, "list-sessions")
        podman.kill()
        with within(10):
            answer = await app.dispatch.call("create-session", {"name": "more"})
        assert "does not lead to a shell" in answer.text
    finally:
        await app.close()


async def _check_that_a_killed_muxpilot_leaves_nothing(podman: PodmanContainer, command: str) -> None:
    """podman does not end a program in the container when `podman exec` is killed."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, command], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert b"ready" in process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()

    async def is_alone() -> bool:
        listed = podman.run("/bin/sh", "-c", LIST)
        return "muxpilot-hub" not in listed and "wait-for" not in listed

    await eventually(is_alone, limit_s=30)
    assert podman.run("/bin/sh", "-c", "tmux list-sessions").startswith("work: ")
