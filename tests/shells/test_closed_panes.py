"""What is known about a pane is let go when the pane has ended; the results of its commands are kept."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from muxpilot.shells.pane_commands import PaneCommands
from muxpilot.tmux import PaneId
from tests.rigs.waiting import eventually
from tests.shells.conftest import Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def use_and_kill_pane(desk: Desk) -> tuple[weakref.ref[PaneCommands], str]:
    pane = await desk.own_pane()
    answers = await asyncio.gather(*(desk.run(pane, f"echo {n}") for n in range(2)))
    shell = desk.app.services.shells.find_pane(desk.app.servers.default, PaneId(pane))
    assert shell is not None
    await desk.call("kill-pane", paneId=pane)
    return weakref.ref(shell), answers[-1]["commandId"]


async def test_a_pane_that_has_ended_takes_no_memory(desk: Desk) -> None:
    used = [await use_and_kill_pane(desk) for _ in range(3)]

    async def are_released() -> bool:
        await desk.run(await desk.own_pane(), "true")  # a pane that is opened closes those that have ended
        gc.collect()
        return not any(shell() for shell, _ in used)

    await eventually(are_released)
    for _, command in used:
        assert (await desk.call("get-command-result", commandId=command))["output"] == "1\n"
