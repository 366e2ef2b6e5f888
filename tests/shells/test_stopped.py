"""A command that C-z stops is told as stopped, and its shell takes the next one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.shells.conftest import SHELLS, Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def stop_program(desk: Desk, pane: str, command: str) -> dict[str, Any]:
    """Start a program and press C-z when it has the terminal. It must not fork: a vfork cannot be stopped."""
    asked = await desk.run(pane, command, waitMs=0)
    await desk.wait_for_program(pane, "sleep")
    desk.run_tmux("send-keys", "-t", pane, "C-z")
    return asked


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_stopped_command_is_told_and_can_be_resumed(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    asked = await stop_program(desk, pane, "/bin/sleep 2")
    ended = await desk.get_result(asked)
    assert (ended["status"], ended["exitCode"]) == ("stopped", None), ended
    assert "fg" in ended["reason"]
    assert (await desk.run(pane, "echo next"))["output"].endswith("next\n")
    resumed = await desk.run(pane, "fg")
    assert resumed["status"] == "completed", resumed


async def test_a_job_in_the_background_that_stops_does_not_stop_its_command(desk: Desk) -> None:
    pane = await desk.own_pane()
    answer = await desk.run(pane, "cat & sleep 0.2")
    assert (answer["status"], answer["exitCode"]) == ("completed", 0)


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_command_that_is_stopped_after_one_that_failed_is_told(desk: Desk, shell: str) -> None:
    """fish keeps the status of the command before."""
    pane = await desk.own_pane(shell)
    assert (await desk.run(pane, "sh -c 'exit 4'"))["exitCode"] == 4
    ended = await desk.get_result(await stop_program(desk, pane, "/bin/sleep 60"))
    assert (ended["status"], ended["exitCode"]) == ("stopped", None), ended
    failed = await desk.run(pane, "sh -c 'exit 4'")
    assert (failed["status"], failed["exitCode"]) == ("failed", 4), failed


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_program_that_ends_with_that_status_has_failed(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    answer = await desk.run(pane, "sh -c 'exit 148'")
    assert (answer["status"], answer["exitCode"]) == ("failed", 148)
    await stop_program(desk, pane, "/bin/sleep 60")
    await desk.wait_for_prompt(pane)
    answer = await desk.run(pane, "sh -c 'exit 148'")
    assert (answer["status"], answer["exitCode"]) == ("failed", 148)
