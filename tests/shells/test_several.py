"""Several muxpilots use one pane: each gets its own answers."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from muxpilot.app import build
from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope
from muxpilot.shells.command_records import RecordedCommand
from muxpilot.tmux import PaneId, Tmux
from tests.rigs.waiting import eventually
from tests.shells.conftest import SHELLS, Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def other(desk: Desk) -> AsyncIterator[Desk]:
    """Start another muxpilot on the same tmux."""
    app = build(Settings(scope=Scope.ALL, socket=desk.socket))
    yield Desk(app, desk.folder, desk.socket)
    await app.close()


@pytest.mark.parametrize("shell", SHELLS)
async def test_two_muxpilots_take_turns_at_a_pane(desk: Desk, other: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    for asker in (desk, other, desk):
        assert (await asker.run(pane, "echo one"))["output"] == "one\n"
    asked = [(asker, f"echo {name}{n}") for n in range(3) for name, asker in (("a", desk), ("b", other))]
    answers = await asyncio.gather(*(asker.run(pane, command) for asker, command in asked))
    assert [answer["output"] for answer in answers] == [f"{command[5:]}\n" for _, command in asked]


async def test_a_command_waits_for_that_of_another_muxpilot(desk: Desk, other: Desk) -> None:
    pane = await desk.own_pane()
    first = await desk.run(pane, "read line; echo $line")
    assert first["waitingForInput"]
    second = await other.run(pane, "echo second", timeoutSeconds=0.5)
    assert second["status"] == "queued"
    await other.wait_until_queued(second, "Another muxpilot runs a command in the pane.")
    desk.type_as_person(pane, "first", "Enter")
    assert (await desk.get_result(first))["output"] == "first\nfirst\n"
    assert (await other.get_result(second))["output"] == "second\n"


async def test_a_command_that_ends_while_another_muxpilot_looks_for_it_is_not_lost(
    desk: Desk, other: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over ssh, what the command printed may not have arrived at the other muxpilot."""
    pane, barrier = await desk.own_pane(), desk.barrier()
    asked = await desk.run(pane, f"{barrier.command}; sh -c 'exit 5'", waitMs=0)
    shells = other.app.services.shells
    find = shells.archive.find

    async def find_before_its_end(tmux: Tmux, command_id: str) -> tuple[PaneId, RecordedCommand] | None:
        found = await find(tmux, command_id)
        monkeypatch.setattr(shells.archive, "find", find)
        barrier.open()
        assert (await desk.get_result(asked))["exitCode"] == 5
        return found

    async def read_nothing(*_: object) -> None:
        pass

    monkeypatch.setattr(shells.archive, "find", find_before_its_end)
    monkeypatch.setattr(shells.archive, "_replay", read_nothing)
    told = await other.get_result(asked)
    assert (told["status"], told["exitCode"]) == ("failed", 5)


@pytest.mark.parametrize("shell", ["bash", "dash"])
async def test_a_line_that_is_still_typed_by_another_muxpilot_is_no_question(
    desk: Desk, other: Desk, shell: str
) -> None:
    pane = await desk.own_pane(shell)
    for asker in (desk, other):
        await asker.run(pane, "true")
    slow = asyncio.create_task(desk.run(pane, "echo slow", delayMs=400))
    await desk.wait_for_output(pane, b"ech")
    assert (await other.run(pane, "echo other"))["output"] == "other\n"
    assert (await slow)["output"] == "slow\n"


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shell != "fish"])
async def test_the_prompt_has_the_marks_of_one_muxpilot(desk: Desk, other: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, "true")
    count = "printf %s \"$PS1$PS2$PS0\" | tr -cd '\\007' | wc -c"
    once = await desk.run(pane, count)
    for asker in (other, desk, other):
        again = await asker.run(pane, count)
    assert again["output"] == once["output"]


async def test_what_a_killed_muxpilot_left_is_put_right_by_the_next(desk: Desk) -> None:
    pane = await desk.person_pane("bash", "--norc", shows="$" if os.getuid() else "#")
    asked = json.dumps({"paneId": pane, "command": "sleep 60"})
    argv = [sys.executable, "-m", "muxpilot", "--socket", desk.socket, "call", "execute-command", asked]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
        await eventually(lambda: _option(desk, pane, "on"))
        await desk.wait_for_program(pane, "sleep")
        killed.kill()
    desk.run_tmux("send-keys", "-t", pane, "C-c")
    assert (await desk.run(pane, "echo next"))["output"] == "next\n"
    await eventually(lambda: _option(desk, pane, ""))


async def _option(desk: Desk, pane: str, value: str) -> bool:
    return desk.run_tmux("show-options", "-p", "-v", "-t", pane, "remain-on-exit") == value
