"""The results of commands after the end of the muxpilot that ran them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.http_server import serving_http
from tests.rigs.muxpilots import call_and_wait, killed_server, one_server, write_config
from tests.rigs.shell_panes import create_pane, create_plain_pane
from tests.rigs.waiting import eventually
from tests.rigs.wire import Place, command, environment
from tests.rigs.witness import Witness, WitnessedCommand
from tests.shells.conftest import SHELLS, Barrier

WAIT_MS = 20_000


def make_barrier(place: Place) -> Barrier:
    return Barrier(Path(place.socket).with_name("barrier"))


def is_written(read: Callable[[], list[int]], number: int) -> Awaitable[object]:
    """Wait until a file of the witness has a number."""

    async def has_it() -> bool:
        return number in read()

    return eventually(has_it)


async def end_in_the_gap(
    place: Place, witness: Witness, kind: str, shell: str, *, is_own: bool = True
) -> tuple[WitnessedCommand, dict[str, Any]]:
    """Let a command end while no muxpilot runs. Return it, and what the next muxpilot tells of it."""
    barrier = make_barrier(place)
    async with killed_server(place) as first:
        pane = await create_pane(place, first, shell) if is_own else create_plain_pane(place, shell)
        asked = witness.make_command(kind, pane)
        text = asked.text.replace("; ", f"; {barrier.command}; ", 1)
        running = await first.call("execute-command", paneId=pane, command=text, waitMs=0)
        await is_written(witness.begun, asked.number)
    barrier.open()
    await is_written(witness.ended, asked.number)
    async with one_server(place) as second:
        told = await call_and_wait(
            second, "get-command-result", commandId=running["commandId"], waitMs=WAIT_MS
        )
    assert told["status"] != "refused", told
    return asked, told


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("is_own", [True, False], ids=["own", "plain"])
async def test_a_command_that_ended_in_the_gap_has_its_result(
    place: Place, witness: Witness, shell: str, is_own: bool
) -> None:
    asked, told = await end_in_the_gap(place, witness, "fails", shell, is_own=is_own)
    assert asked.is_told_by(told), told
    assert witness.begun() == [asked.number]


@pytest.mark.parametrize("shell", ["bash", "zsh", "dash"])
async def test_an_exit_in_the_gap_reports_its_code(place: Place, witness: Witness, shell: str) -> None:
    asked, told = await end_in_the_gap(place, witness, "exits", shell)
    assert asked.is_told_by(told), told


async def test_the_time_until_the_next_muxpilot_looks_does_not_count(place: Place, witness: Witness) -> None:
    barrier = make_barrier(place)
    async with killed_server(place) as first:
        asked = witness.make_command("fails", await create_pane(place, first))
        text = asked.text.replace("; ", f"; {barrier.command}; ", 1)
        asked_at = time.monotonic()
        running = await first.call("execute-command", paneId=asked.pane, command=text, waitMs=0)
        await is_written(witness.begun, asked.number)
    barrier.open()
    await is_written(witness.ended, asked.number)

    async def has_ended() -> bool:
        """Return whether the journal has the mark of the command's status."""
        printed = b"".join(path.read_bytes() for path in sorted(place.home.rglob("0*-0*")) if path.is_file())
        return b"133;D;" in printed.rpartition(b"133;C;")[2]

    await eventually(has_ended)
    async with one_server(place) as second:
        looked_at = time.monotonic()
        told = await call_and_wait(
            second, "get-command-result", commandId=running["commandId"], waitMs=WAIT_MS
        )
        rows = (await second.call("list-commands"))["commands"]
    assert asked.is_told_by(told), told
    assert told["elapsedMs"] < 1000 * (looked_at - asked_at)
    assert [row["elapsedMs"] for row in rows] == [told["elapsedMs"]]


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "closed"])
async def test_a_finished_command_is_told_again_by_the_next_muxpilot(
    place: Place, witness: Witness, is_killed: bool
) -> None:
    serve = killed_server if is_killed else one_server
    async with serve(place) as first:
        asked = witness.make_command("big", await create_pane(place, first))
        done = await call_and_wait(
            first, "execute-command", paneId=asked.pane, command=asked.text, maxOutputBytes=1 << 20
        )
        assert asked.is_told_by(done)
    async with one_server(place) as second:
        told = await call_and_wait(
            second, "get-command-result", commandId=done["commandId"], maxOutputBytes=1 << 20
        )
        rows = (await second.call("list-commands"))["commands"]
        await second.call("execute-command", paneId=asked.pane, command="echo af''ter")
        read = await second.call("read-pane", paneId=asked.pane, since=told["cursor"])
    assert told["status"] != "refused", told
    assert asked.is_told_by(told)
    assert told["cursor"] == done["cursor"]
    assert "after" in read["text"].splitlines()
    assert read["missedLines"] == 0
    assert [(row["commandId"], row["command"]) for row in rows] == [(done["commandId"], asked.text)]


@pytest.mark.parametrize("is_opened_in_gap", [True, False], ids=["ended in the gap", "still running"])
async def test_a_queued_command_is_run_once_by_the_next_muxpilot(
    place: Place, witness: Witness, is_opened_in_gap: bool
) -> None:
    barrier = make_barrier(place)
    async with killed_server(place) as first:
        pane = await create_pane(place, first)
        await first.call("execute-command", paneId=pane, command=barrier.command, waitMs=0)
        asked = witness.make_command("quick", pane)
        queued = await first.call("execute-command", paneId=pane, command=asked.text, waitMs=0)
        assert queued["status"] == "queued"
    if is_opened_in_gap:
        barrier.open()
    async with one_server(place) as second:
        barrier.open()
        told = await call_and_wait(
            second, "get-command-result", commandId=queued["commandId"], waitMs=WAIT_MS
        )
        assert told["status"] != "refused", told
        assert asked.is_told_by(told), told
        rows = (await second.call("list-commands"))["commands"]
    assert [row["command"] for row in rows] == [barrier.command, asked.text]
    assert witness.begun() == [asked.number]


async def test_a_queued_command_whose_shell_has_ended_is_lost_and_not_run(
    place: Place, witness: Witness
) -> None:
    barrier = make_barrier(place)
    async with killed_server(place) as first:
        pane = await create_pane(place, first)
        blocking = f"{barrier.command}; exit 4"
        running = await first.call("execute-command", paneId=pane, command=blocking, waitMs=0)
        asked = witness.make_command("quick", pane)
        queued = await first.call("execute-command", paneId=pane, command=asked.text, waitMs=0)
        assert queued["status"] == "queued"
    barrier.open()
    async with one_server(place) as second:
        told = await call_and_wait(
            second, "get-command-result", commandId=queued["commandId"], waitMs=WAIT_MS
        )
        before = await call_and_wait(
            second, "get-command-result", commandId=running["commandId"], waitMs=WAIT_MS
        )
    assert (told["status"], told.get("exitCode"), bool(told["reason"])) == ("lost", None, True), told
    assert (before["status"], before["exitCode"]) == ("failed", 4)
    assert witness.begun() == []


async def test_every_muxpilot_lists_all_commands_in_the_order_of_asking(
    place: Place, witness: Witness
) -> None:
    texts = []
    for _ in range(3):
        async with killed_server(place) as wire:
            for shell in ("bash", "dash"):
                asked = witness.make_command("quick", await create_pane(place, wire, shell))
                await wire.call("execute-command", paneId=asked.pane, command=asked.text)
                texts.append(asked.text)
    async with one_server(place) as last:
        rows = (await last.call("list-commands"))["commands"]
        ends = {row["status"] for row in rows}
        of_pane = (await last.call("list-commands", paneId=rows[0]["paneId"]))["commands"] if rows else []
    assert [row["command"] for row in rows] == texts
    assert ends == {"completed"}
    assert [row["command"] for row in of_pane] == texts[:1]


@pytest.mark.parametrize("is_killed", [True, False], ids=["owner killed", "owner alive"])
async def test_a_command_is_cancelled_by_another_muxpilot(
    place: Place, witness: Witness, is_killed: bool
) -> None:
    barrier = make_barrier(place)
    async with one_server(place) as first, one_server(place) as second:
        pane = await create_pane(place, first)
        asked = witness.make_command("quick", pane)
        text = asked.text.replace("; ", f"; {barrier.command}; ", 1)
        running = await first.call("execute-command", paneId=pane, command=text, waitMs=0)
        await is_written(witness.begun, asked.number)
        if is_killed:
            await first.kill()
        told = await call_and_wait(second, "cancel-command", commandId=running["commandId"])
        assert told["status"] == "cancelled", told
        if not is_killed:
            seen = await first.call("get-command-result", commandId=running["commandId"], waitMs=WAIT_MS)
            assert seen["status"] == "cancelled"
        after = await call_and_wait(second, "execute-command", paneId=pane, command="echo after")
    assert after["output"] == "after\n"
    assert witness.ended() == []


async def test_http_and_stdio_know_each_other_s_commands(place: Place, witness: Witness) -> None:
    async with one_server(place) as stdio, serving_http(place) as (web, _):
        identity = await web.open()
        pane = await create_pane(place, stdio)
        asked = witness.make_command("quick", pane)
        done = await stdio.call("execute-command", paneId=pane, command=asked.text)
        other = await web.call(identity, "execute-command", paneId=pane, command="echo by-http")
        told = await call_and_wait(stdio, "get-command-result", commandId=other["commandId"])
        assert (told["status"], told.get("output")) == ("completed", "by-http\n"), told
        seen = await web.call(identity, "get-command-result", commandId=done["commandId"])
        assert asked.is_told_by(seen)


async def test_the_command_line_knows_a_command_of_a_killed_server(place: Place, witness: Witness) -> None:
    async with killed_server(place) as wire:
        asked = witness.make_command("fails", await create_pane(place, wire))
        done = await wire.call("execute-command", paneId=asked.pane, command=asked.text)
    code, printed = await run_call(place, "get-command-result", {"commandId": done["commandId"]})
    assert code == 0, printed
    assert asked.is_told_by(json.loads(printed))


async def run_call(place: Place, tool: str, arguments: dict[str, object]) -> tuple[int | None, str]:
    """Run `muxpilot call`. Return its exit code and everything that it printed."""
    return await run_muxpilot(place, "call", tool, json.dumps(arguments))


async def run_muxpilot(place: Place, *arguments: str) -> tuple[int | None, str]:
    """Run a command of muxpilot. Return its exit code and everything that it printed."""
    env = environment(place.home) | {"TMPDIR": str(place.passing), "PATH": place.path}
    argv = command("--socket", place.socket, *arguments)
    pipe, to_stdout = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
    process = await asyncio.create_subprocess_exec(*argv, env=env, stdout=pipe, stderr=to_stdout)
    printed, _ = await asyncio.wait_for(process.communicate(), 40)
    return process.returncode, printed.decode()


async def test_of_a_flood_in_the_gap_the_newest_output_is_kept(place: Place, witness: Witness) -> None:
    barrier, last = make_barrier(place), 700_000  # 5.5 MB, more than two caps
    args = write_config(place, journal_cap_bytes=2 << 20)
    async with killed_server(place, *args) as first:
        asked = witness.make_command("silent", await create_pane(place, first))
        text = asked.text.replace("; ", f"; {barrier.command}; seq {last}; ", 1)
        running = await first.call("execute-command", paneId=asked.pane, command=text, waitMs=0)
        await is_written(witness.begun, asked.number)
    barrier.open()
    await is_written(witness.ended, asked.number)
    async with one_server(place, *args) as second:
        told = await call_and_wait(
            second, "get-command-result", commandId=running["commandId"], waitMs=WAIT_MS, maxOutputBytes=65536
        )
    _, printed = await run_muxpilot(place, *args, "logs", running["commandId"])
    missing = "A part of the output was not seen: the pane's journal no longer holds it."
    assert printed.endswith(f"{last}\nmuxpilot: {missing}\n"), printed[-300:]
    assert (told["status"], told.get("exitCode")) == ("completed", 0), told
    assert (told["outputTruncated"], told["reason"]) == (True, missing)
    assert told["output"].endswith(f"{last - 1}\n{last}\n")


async def test_sizes_and_offsets_of_a_flood_are_the_same_in_every_muxpilot(place: Place) -> None:
    """The one that ran the command has written down how long its output was."""
    args = write_config(place, journal_cap_bytes=2 << 20)
    async with killed_server(place, *args) as first, killed_server(place, *args) as other:
        pane = await create_pane(place, first)
        ran = await first.call("execute-command", paneId=pane, command="seq 700000")
        near_end = {"commandId": ran["commandId"], "offsetBytes": ran["outputBytes"] - 100_000}
        told = [await wire.call("get-command-result", **near_end) for wire in (first, other)]
    async with one_server(place, *args) as second:
        told.append(await second.call("get-command-result", **near_end))
        lost = await second.call("get-command-result", commandId=ran["commandId"], offsetBytes=0)
    assert {answer["outputBytes"] for answer in (ran, *told, lost)} == {ran["outputBytes"]}
    assert {answer["output"] for answer in told} == {told[0]["output"]}
    assert "were not kept: the output begins at the latter" in lost["reason"]


async def test_without_a_journal_commands_run_and_nothing_is_kept(place: Place, witness: Witness) -> None:
    args = write_config(place, journal=False)
    async with killed_server(place, *args) as first:
        asked = witness.make_command("quick", await create_pane(place, first))
        done = await first.call("execute-command", paneId=asked.pane, command=asked.text)
        assert asked.is_told_by(done)
    async with one_server(place, *args) as second:
        told = await call_and_wait(second, "get-command-result", commandId=done["commandId"])
        assert told["status"] == "refused"
        assert done["commandId"] in told["reason"]
        again = witness.make_command("quick", asked.pane)
        assert again.is_told_by(await second.call("execute-command", paneId=again.pane, command=again.text))
    kept = [path for path in place.home.rglob("*") if path.is_file() and path.name.startswith("records")]
    assert kept == []
