"""A command that is silent for long costs little."""

from __future__ import annotations

import logging
import time

import pytest

from tests.rigs.waiting import eventually
from tests.shells.conftest import Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")

LONGEST_S = 0.2
CHECKS = 15


async def test_a_silent_command_is_checked_for_input_ever_less_often(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    desk.change_timing(monkeypatch, longest_input_check_s=LONGEST_S)
    pane = await desk.own_pane()
    barrier = desk.barrier()
    caplog.set_level(logging.DEBUG, "muxpilot.shells")
    began = time.monotonic()
    running = await desk.start_program(pane, barrier.command)

    async def checks() -> list[str]:
        lines = [record.getMessage() for record in caplog.records]
        found = [line for line in lines if line.startswith("checked for input")]
        return found if len(found) >= CHECKS else []

    await eventually(checks)
    # At first the pause is shorter, and doubles.
    assert time.monotonic() - began > (CHECKS - 5) * LONGEST_S
    barrier.open()
    assert (await desk.get_result(running))["status"] == "completed"
