"""A muxpilot is killed after each step of a command's life. The next one tells the truth about it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.durability.test_after_restart import is_written
from tests.rigs.crash_points import CrashPlan, find_missing_points
from tests.rigs.muxpilots import call_and_wait, killed_server, one_server
from tests.rigs.shell_panes import create_pane
from tests.rigs.waiting import eventually
from tests.rigs.wire import LIMIT_S, Place, Wire
from tests.rigs.witness import FINAL, Witness, WitnessedCommand, find_repeated, find_untruth

MOST_STEPS = 150
WAIT_MS = 20_000


def test_every_crash_point_exists() -> None:
    assert find_missing_points() == []


class Inquiry:
    """What the muxpilots after a crash say, and what of it is not true."""

    def __init__(self, place: Place, witness: Witness) -> None:
        self.lies: list[str] = []
        self._place = place
        self._witness = witness
        self._unknown: dict[int, int] = {}

    async def ask(self, asked: Sequence[WitnessedCommand], step: int, *, answered: set[int]) -> None:
        """Ask a new muxpilot about commands, and compare with the files.

        It must know those for which the killed one had answered with an id.
        """
        async with one_server(self._place) as wire:
            ids = {row["command"]: row["commandId"] for row in (await wire.call("list-commands"))["commands"]}
            for command in asked:
                if command.text in ids:
                    answer = await get_result(wire, ids[command.text])
                    self._judge(command, answer, step)
                elif command.number in answered:
                    self.lies.append(f"step {step}: {command.kind} was answered, and is not known")
                else:
                    self._unknown[command.number] = step

    def _judge(self, command: WitnessedCommand, answer: dict[str, Any], step: int) -> None:
        begun, ended = self._witness.begun(), self._witness.ended()
        times = {"begun": begun.count(command.number), "ended": ended.count(command.number)}
        lie = find_untruth(command, answer, **times)
        if answer["status"] not in FINAL or lie:
            self.lies.append(f"step {step}: {command.kind} is told as {answer}; {lie}; {times}")

    def close(self) -> list[str]:
        """Return all lies. A command that no muxpilot knows must not have run by now, and none ran twice."""
        begun = self._witness.begun()
        ran = [
            f"step {step}: ran, and is not known" for number, step in self._unknown.items() if number in begun
        ]
        return [*self.lies, *ran, *(f"command {number} ran twice" for number in find_repeated(begun))]


async def get_result(wire: Wire, command_id: str) -> dict[str, Any]:
    return await call_and_wait(wire, "get-command-result", commandId=command_id, waitMs=WAIT_MS)


async def is_killed_during(wire: Wire, work: Awaitable[object]) -> bool:
    """Do some work with a server. Tell whether the server was killed meanwhile."""
    doing, ended = asyncio.ensure_future(work), asyncio.ensure_future(wire.process.wait())
    await asyncio.wait((doing, ended), timeout=2 * LIMIT_S, return_when=asyncio.FIRST_COMPLETED)
    is_killed = ended.done()
    doing.cancel()
    with suppress(asyncio.CancelledError, ConnectionError):
        await doing
    await wire.kill()
    await ended
    return is_killed


async def run_all(wire: Wire, asked: Sequence[WitnessedCommand], answered: set[int]) -> None:
    """Run commands, one queued behind another, to the end of the last one. Note which were answered."""
    for command in asked:
        how = {"timeoutSeconds": LIMIT_S / 2} if command is asked[-1] else {"waitMs": 0}
        await wire.call("execute-command", paneId=command.pane, command=command.text, **how)
        answered.add(command.number)
    await wire.call("list-commands")  # what was still to be written is written by now


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("shell", "kinds"),
    [
        ("bash", ["fails"]),
        ("dash", ["quick"]),
        ("zsh", ["lines"]),
        ("fish", ["quick"]),
        ("bash", ["slow", "quick"]),
        ("bash", ["exits"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "+".join(value),
)
async def test_the_next_muxpilot_tells_the_truth_after_a_crash_at_any_step(
    place: Place, witness: Witness, shell: str, kinds: list[str]
) -> None:
    plan, inquiry = CrashPlan(Path(place.socket).parent), Inquiry(place, witness)
    is_killed, step = True, 0
    while is_killed and step < MOST_STEPS:
        step += 1
        async with plan.serve(place) as wire:
            await wire.shake_hands()
            pane = await create_pane(place, wire, shell)
            asked = [witness.make_command(kind, pane) for kind in kinds]
            plan.arm(step)
            answered: set[int] = set()
            is_killed = await is_killed_during(wire, run_all(wire, asked, answered))
            plan.disarm()
        await inquiry.ask(asked, step, answered=answered)
    assert not is_killed, f"still killed after {step} steps"
    assert inquiry.close() == []


async def catch_up(wire: Wire) -> None:
    """Let a server learn what happened before it started."""
    await wire.shake_hands()
    for row in (await wire.call("list-commands"))["commands"][-2:]:
        await get_result(wire, row["commandId"])


@pytest.mark.timeout(300)
async def test_a_crash_at_any_step_of_catching_up_harms_nothing(place: Place, witness: Witness) -> None:
    plan, inquiry = CrashPlan(Path(place.socket).parent), Inquiry(place, witness)
    is_killed, step = True, 0
    while is_killed and step < MOST_STEPS:
        step += 1
        async with killed_server(place) as first:
            pane = await create_pane(place, first)
            asked = [witness.make_command(kind, pane) for kind in ("slow", "quick")]
            for command in asked:
                await first.call("execute-command", paneId=pane, command=command.text, waitMs=0)
            await is_written(witness.begun, asked[0].number)
        plan.arm(step)
        async with plan.serve(place) as second:
            is_killed = await is_killed_during(second, catch_up(second))
            plan.disarm()
        await inquiry.ask(asked, step, answered={command.number for command in asked})
    assert not is_killed, f"still killed after {step} steps"
    assert inquiry.close() == []
    assert {command.number for command in asked} <= set(witness.begun())


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "Tt"


async def is_stopped_during(wire: Wire, pending: asyncio.Future[Any]) -> bool:
    """Wait until a server is stopped, or has answered before."""

    async def is_settled() -> bool:
        return pending.done() or is_stopped(wire.pid)

    await eventually(is_settled)
    return not pending.done()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("shell", ["bash", "dash"])
async def test_a_muxpilot_stopped_at_any_step_holds_nobody_up_and_types_nothing_twice(
    place: Place, witness: Witness, shell: str
) -> None:
    plan = CrashPlan(Path(place.socket).parent, signal.SIGSTOP)
    faults, step, was_stopped = [], 0, True
    async with plan.serve(place) as first, one_server(place) as second:
        await first.shake_hands()
        while was_stopped and step < MOST_STEPS:
            step += 1
            pane = await create_pane(place, second, shell)
            for wire in (second, first):
                await wire.call("execute-command", paneId=pane, command="true")
            mine, other = witness.make_command("fails", pane), witness.make_command("quick", pane)
            plan.arm(step)
            pending = await first.start_call("execute-command", paneId=pane, command=mine.text)
            was_stopped = await is_stopped_during(first, pending)
            steps = plan.disarm()
            told = await call_and_wait(second, "execute-command", paneId=pane, command=other.text)
            os.kill(first.pid, signal.SIGCONT)
            answer = (await asyncio.wait_for(pending, LIMIT_S))["result"].get("structuredContent", {})
            if not other.is_told_by(told) or not mine.is_told_by(answer):
                faults.append(f"step {step} ({steps[-1:]}): {told}; {answer}")
    assert not was_stopped, f"still stopped after {step} steps"
    assert faults == []
    assert find_repeated(witness.begun()) == []
