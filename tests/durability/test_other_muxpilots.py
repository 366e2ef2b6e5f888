"""Several muxpilots run commands in the same panes. One of them stops or is killed while it has the turn."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from tests.durability.test_after_restart import is_written, make_barrier
from tests.rigs.muxpilots import call_and_wait, one_server, run_together
from tests.rigs.shell_panes import create_pane
from tests.rigs.waiting import eventually, within
from tests.rigs.wire import LIMIT_S, Place, private_place
from tests.rigs.witness import Witness, find_untruth

# Milliseconds from a call until the server is stopped or killed: the command is recorded, typed, run.
MOMENTS_MS = (0, 1, 2, 3, 5, 10, 20, 40, 200)
SOON_S = 8.0
# Longer than `within(SOON_S)` allows on a busy machine: a call that gives up earlier answers `queued`.
PATIENCE = {"timeoutSeconds": 70}


@pytest.mark.parametrize("servers", [2, 5])
async def test_each_answer_is_of_its_own_command(servers: int) -> None:
    with private_place() as place:
        outcome = await run_together(place, servers=servers, commands=120)
    assert outcome.faults == [], str(outcome)


async def test_commands_go_on_while_the_muxpilot_of_the_running_one_is_stopped(
    place: Place, witness: Witness
) -> None:
    barrier = make_barrier(place)
    async with one_server(place) as first, one_server(place) as second:
        pane = await create_pane(place, first)
        slow, quick = witness.make_command("fails", pane), witness.make_command("quick", pane)
        text = slow.text.replace("; ", f"; {barrier.command}; ", 1)
        running = await first.call("execute-command", paneId=pane, command=text, waitMs=0)
        await is_written(witness.begun, slow.number)
        with first.stopped(), within(SOON_S):
            barrier.open()
            told = await call_and_wait(second, "execute-command", paneId=pane, command=quick.text, **PATIENCE)
            assert told["status"] != "refused", told
            assert quick.is_told_by(told), told
            seen = await call_and_wait(second, "get-command-result", commandId=running["commandId"])
            assert seen["status"] != "refused", seen
            assert slow.is_told_by(seen), seen
        own = await first.call("get-command-result", commandId=running["commandId"], waitMs=20_000)
    assert slow.is_told_by(own), own
    assert witness.begun() == [slow.number, quick.number]


async def test_a_watch_in_a_new_muxpilot_knows_how_a_command_of_another_ended(place: Place) -> None:
    barrier = make_barrier(place)
    async with one_server(place) as first:
        pane = await create_pane(place, first)
        await first.call(
            "execute-command", paneId=pane, command=f"{barrier.command}; sh -c 'exit 5'", waitMs=0
        )
        async with one_server(place) as second:
            watch = await second.call("notify-when", paneId=pane, triggers="exit", timeout=40)
            barrier.open()

            async def ended() -> dict[str, Any] | None:
                found: dict[str, Any] = await second.call("get-watch", watchId=watch["watchId"])
                return found if found["status"] == "done" else None

            told = cast("dict[str, Any]", await eventually(ended))
    assert told["event"] == "exit"
    assert "5" in told["detail"], told


@pytest.mark.parametrize("ms", MOMENTS_MS)
async def test_a_muxpilot_stopped_in_its_turn_holds_nobody_up_and_types_nothing_twice(
    place: Place, witness: Witness, ms: int
) -> None:
    async with one_server(place) as first, one_server(place) as second:
        pane = await create_pane(place, first)
        for wire in (second, first):
            await wire.call("execute-command", paneId=pane, command="true")
        mine, other = witness.make_command("slow", pane), witness.make_command("quick", pane)
        pending = await first.start_call("execute-command", paneId=pane, command=mine.text, **PATIENCE)
        await asyncio.sleep(ms / 1000)
        with first.stopped(), within(SOON_S):
            told = await call_and_wait(second, "execute-command", paneId=pane, command=other.text, **PATIENCE)
            assert told["status"] != "refused", told
            assert other.is_told_by(told), told
        answer = (await asyncio.wait_for(pending, 2 * LIMIT_S))["result"]["structuredContent"]
        assert mine.is_told_by(answer), answer
        last = await second.call("execute-command", paneId=pane, command="echo last")
    assert last["output"] == "last\n"
    assert sorted(witness.begun()) == [mine.number, other.number]


@pytest.mark.parametrize("ms", MOMENTS_MS)
async def test_a_muxpilot_killed_in_its_turn_holds_nobody_up(place: Place, witness: Witness, ms: int) -> None:
    async with one_server(place) as first, one_server(place) as second:
        pane = await create_pane(place, first)
        for wire in (second, first):
            await wire.call("execute-command", paneId=pane, command="true")
        mine, other = witness.make_command("slow", pane), witness.make_command("quick", pane)
        await first.start_call("execute-command", paneId=pane, command=mine.text)
        await asyncio.sleep(ms / 1000)
        await first.kill()
        with within(SOON_S):
            told = await call_and_wait(second, "execute-command", paneId=pane, command=other.text, **PATIENCE)
        assert told["status"] != "refused", told
        assert other.is_told_by(told), told
        rows = (await second.call("list-commands"))["commands"]
        [row] = [row for row in rows if row["command"] == mine.text] or [None]
        if row is None:
            assert mine.number not in witness.begun()
        else:
            result = await second.call("get-command-result", commandId=row["commandId"], waitMs=20_000)
            begun, ended = (numbers.count(mine.number) for numbers in (witness.begun(), witness.ended()))
            assert find_untruth(mine, result, begun=begun, ended=ended) is None, result
    assert witness.begun().count(mine.number) <= 1
    assert witness.begun().count(other.number) == 1
