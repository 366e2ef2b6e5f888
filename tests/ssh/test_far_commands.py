"""Commands in panes of another host that end while the connection is broken, or while no muxpilot runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rigs.muxpilots import call_and_wait
from tests.shells.conftest import Barrier
from tests.ssh.conftest import WAIT_MS, RemoteHost, another_muxpilot, far_generations, wait_for_end

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("mended")]

LINES = "".join(f"{number}\n" for number in range(1, 3001))
# What a command does after the connection was broken, its output and its exit code.
ENDINGS = {
    "output": ("seq 1 3000; sh -c 'exit 9'", LINES, 9),
    "silence": ("sh -c 'exit 4'", "", 4),
    # tmux 3.3a may lose what a shell prints in the moment in which it ends.
    "end of the shell": ("seq 1 3000; sleep 0.5; exit 7", LINES, 7),
}


def assert_exact(told: dict[str, Any], output: str, exit_code: int) -> None:
    text = told["output"].removesuffix("logout\n")  # a login shell of bash says so
    found = (told["status"], told["exitCode"], told["outputTruncated"], text)
    assert found == ("failed", exit_code, False, output), {**told, "output": told["output"][-200:]}


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_command_that_ends_while_the_connection_is_broken_is_told_exactly(
    far: RemoteHost, barrier: Barrier, ending: str
) -> None:
    text, output, exit_code = ENDINGS[ending]
    pane = await far.pane()
    assert (await far.run(pane, "true"))["exitCode"] == 0
    running = await far.run(pane, f"{barrier.command}; {text}", timeoutSeconds=0.2)
    assert running["status"] == "running"
    far.sshd.kill()
    barrier.open()
    await wait_for_end(far, pane)
    far.sshd.start()
    told = await far.call(
        "get-command-result", commandId=running["commandId"], waitMs=WAIT_MS, maxOutputBytes=100_000
    )
    assert_exact(told, output, exit_code)
    if exit_code != 7:
        assert (await far.run(pane, "echo again"))["output"] == "again\n"


async def test_the_last_output_of_a_shell_that_ends_is_told_exactly(far: RemoteHost) -> None:
    pane = await far.pane()
    assert (await far.run(pane, "true"))["exitCode"] == 0
    told = await far.run(pane, "seq 1 3000; sleep 0.5; exit 7", maxOutputBytes=100_000)
    assert_exact(told, LINES, 7)


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_command_that_ends_while_no_muxpilot_runs_is_told_exactly(
    far: RemoteHost, barrier: Barrier, ending: str
) -> None:
    text, output, exit_code = ENDINGS[ending]
    pane = await far.pane()
    async with another_muxpilot(far, is_killed=True) as first:
        assert (await first.call("execute-command", paneId=pane, command="true"))["exitCode"] == 0
        line = f"{barrier.command}; {text}"
        running = await first.call("execute-command", paneId=pane, command=line, timeoutSeconds=0.2)
        assert running["status"] == "running"
    barrier.open()
    await wait_for_end(far, pane)
    async with another_muxpilot(far) as second:
        told = await call_and_wait(
            second,
            "get-command-result",
            commandId=running["commandId"],
            waitMs=WAIT_MS,
            maxOutputBytes=100_000,
        )
    assert_exact(told, output, exit_code)


async def test_two_muxpilots_share_the_commands_of_a_far_pane(far: RemoteHost) -> None:
    pane = await far.pane()
    async with another_muxpilot(far) as first, another_muxpilot(far) as second:
        wires = (first, second)
        for turn in range(6):
            command = f"echo turn {turn}; sh -c 'exit {turn}'"
            told = await wires[turn % 2].call("execute-command", paneId=pane, command=command)
            assert (told["output"], told["exitCode"]) == (f"turn {turn}\n", turn), told
            other = await wires[(turn + 1) % 2].call(
                "get-command-result", commandId=told["commandId"], waitMs=WAIT_MS
            )
            assert (other["output"], other["exitCode"]) == (f"turn {turn}\n", turn), other
    assert len(far_generations(far, pane)) == 1
