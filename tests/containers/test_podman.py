"""Containers of podman, reached by `podman exec -i`: the smallest, and one that can keep journals."""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from muxpilot.app import App, build
from tests.containers.conftest import far_settings
from tests.containers.test_heartbeat import read_answer, running
from tests.rigs.namespaces import NEEDED
from tests.rigs.podman import PodmanContainer, run_podman
from tests.rigs.waiting import LIMIT_S, eventually, send_signal, within

pytestmark = pytest.mark.timeout(240)  # podman takes a second for each step, and more on a busy machine

# The interval and the limit of the heartbeat, for a machine that is busy with podman.
TIMING = ("0.5", "15")
LIST = (
    'tmux list-sessions -F "#{session_name}"; tmux list-clients -F "client of #{client_session}"; '
    'for f in /proc/[0-9]*/cmdline; do echo; cat "$f"; done'
)


@pytest.fixture(scope="module")
def podman() -> Iterator[PodmanContainer]:
    with run_podman(NEEDED) as container:
        yield container


@pytest.fixture(scope="module")
def with_journals() -> Iterator[PodmanContainer]:
    """A container that also has what a journal needs."""
    with run_podman((*NEEDED, "id", "ls", "dd", "wc", "rm", "mkdir", "tail")) as container:
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
    """podman ends no program in the container when `podman exec` is killed, and may keep its stdin open."""
    async with running(command, "cat", TIMING) as process:
        assert (await read_answer(process))["status"] == "running"
        process.send_signal(signal.SIGKILL)
        await process.wait()

        async def is_alone() -> bool:
            listed = podman.run("/bin/sh", "-c", LIST)
            left = any(word in listed for word in ("muxpilot-hub", "wait-for", "client of work"))
            return not left and listed.startswith("work\n")

        await eventually(is_alone, limit_s=100)


async def test_a_command_that_ends_while_podman_is_gone_is_told_exactly(
    with_journals: PodmanContainer, tmp_path: Path
) -> None:
    engine = tmp_path / "engine"
    words = shlex.join(with_journals.words)
    engine.write_text(f'exec {words} "$@"\n')
    app = build(far_settings(shlex.join(["/bin/sh", str(engine)])))
    try:
        await call(app, "create-session", name="work")
        with_journals.run("/bin/sh", "-c", "mkdir /tmp/gates")
        wait = "until [ -d /tmp/gates/open ]; do :; done"
        line = {"paneId": "work:0.0", "command": f"{wait}; echo in the gap; (exit 9)", "timeoutSeconds": 1}
        running = await call(app, "execute-command", **line)
        assert isinstance(running, dict)
        assert running["status"] == "running", running
        engine.write_text("echo the engine is gone >&2; exit 1\n")
        kill_clients(words)
        answer = await app.dispatch.call("list-windows", {})
        assert "the engine is gone" in answer.text
        with_journals.run("/bin/sh", "-c", "mkdir /tmp/gates/open")
        await eventually(lambda: is_at_its_prompt(with_journals), limit_s=30)
        engine.write_text(f'exec {words} "$@"\n')
        told = await call(app, "get-command-result", commandId=running["commandId"], waitMs=60_000)
    finally:
        await app.close()
    assert isinstance(told, dict)
    assert (told["output"], told["exitCode"], told["outputTruncated"]) == ("in the gap\n", 9, False), told


async def is_at_its_prompt(podman: PodmanContainer) -> bool:
    shown = podman.run("/bin/sh", "-c", "tmux capture-pane -p -t work")
    return "in the gap" in shown.splitlines() and shown.rstrip()[-1] in "$#"


def kill_clients(words: str) -> None:
    """Kill all `podman exec` of a container, and wait until each has ended."""
    listed = subprocess.run(["pgrep", "-f", words], capture_output=True, text=True)
    for pid in map(int, listed.stdout.split()):
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:  # a short one that has ended
            continue
        send_signal(pid, signal.SIGKILL)
        assert select.select([handle], [], [], LIMIT_S)[0]
        os.close(handle)
