"""Somebody damages what muxpilot keeps: commands go on, calls are answered in time, and losses are told."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from muxpilot.journal.record_log import RecordLog
from tests.durability.test_after_restart import is_written, make_barrier
from tests.rigs.muxpilots import call_and_wait, killed_server, one_server
from tests.rigs.shell_panes import create_pane
from tests.rigs.wire import Place, Wire
from tests.rigs.witness import Witness, WitnessedCommand

WAIT_MS = 20_000


def find_root(place: Place) -> Path:
    """Return the folder in which everything is kept."""
    return place.home / ".local/state/muxpilot"


def list_segments(place: Place) -> list[Path]:
    found = list(find_root(place).rglob("0*-*/0*-0*"))
    assert found
    return found


def list_records(place: Place) -> list[Path]:
    found = list(find_root(place).rglob("records"))
    assert found
    return found


def delete_all(place: Place) -> None:
    shutil.rmtree(find_root(place))


def cut_journals(place: Place) -> None:
    for path in list_segments(place):
        os.truncate(path, 0)


def overwrite_journals(place: Place) -> None:
    """Put other bytes into the journals, of the same length, marks that look like ours among them."""
    for path in list_segments(place):
        forged = b"\x1b]133;D;0;9.9;0123456789abcdef\x07\xff\x00\n" * (path.stat().st_size // 8 + 1)
        with path.open("r+b") as file:
            file.write(forged[: path.stat().st_size])


def cut_records(place: Place) -> None:
    for path in list_records(place):
        os.truncate(path, 0)


def overwrite_records(place: Place) -> None:
    for path in list_records(place):
        path.write_bytes(b"\x00\xff{]" * 500)


def add_records_of_later_version(place: Place) -> None:
    """Add records that this version does not know, or cannot read."""
    for path in list_records(place):
        log = RecordLog(path)
        ended = {"status": "dreamt", "exit": 0, "ended": 1, "journal": "", "offset": 0}
        for fields in ({"t": "dream"}, {"t": "end", "id": "cmd-0", **ended}, {"t": "type", "id": 7}):
            log.append(fields)
        log.close()


def add_other_layouts(place: Place) -> None:
    """Add what a muxpilot leaves that keeps its journals in another way."""
    [version] = find_root(place).glob("journals/1")
    for name in ("0", "2"):
        shutil.copytree(version, version.with_name(name))


FAULTS: dict[str, Callable[[Place], None]] = {
    "everything deleted": delete_all,
    "journals cut": cut_journals,
    "journals overwritten": overwrite_journals,
    "records cut": cut_records,
    "records overwritten": overwrite_records,
    "records of a later version": add_records_of_later_version,
    "other layouts": add_other_layouts,
}


# Nothing is damaged by these.
HARMLESS = ("records of a later version", "other layouts")


def check_truth(asked: WitnessedCommand, told: dict[str, Any], *, is_output_known: bool) -> None:
    """Check a result: lost with a reason, or the exact exit code, and the exact output or that some is gone.

    Bytes that somebody has put in the place of others, as many as there were, are told as they are.
    """
    if told["status"] == "lost":
        assert told["exitCode"] is None, told
        assert told["reason"], told
        return
    assert (told["status"], told["exitCode"]) == ("failed", asked.exit_code), str(told)
    assert told["outputTruncated"] or told["output"] == asked.output or not is_output_known, told


async def run_next(wire: Wire, witness: Witness, pane: str) -> None:
    """Check that the next command of the pane runs, and is told exactly."""
    asked = witness.make_command("fails", pane)
    told = await call_and_wait(wire, "execute-command", paneId=pane, command=asked.text)
    assert asked.is_told_by(told), str(told)


async def begin_behind_barrier(
    place: Place, wire: Wire, witness: Witness
) -> tuple[WitnessedCommand, dict[str, Any]]:
    """Begin a command that goes on until the barrier is opened."""
    asked = witness.make_command("fails", await create_pane(place, wire))
    text = asked.text.replace("; ", f"; {make_barrier(place).command}; ", 1)
    running = await wire.call("execute-command", paneId=asked.pane, command=text, waitMs=0)
    await is_written(witness.begun, asked.number)
    return asked, running


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_command_that_runs_meanwhile_is_told_truly(
    place: Place, witness: Witness, fault: str
) -> None:
    async with one_server(place) as wire:
        asked, running = await begin_behind_barrier(place, wire, witness)
        FAULTS[fault](place)
        make_barrier(place).open()
        told = await call_and_wait(wire, "get-command-result", commandId=running["commandId"], waitMs=WAIT_MS)
        check_truth(asked, told, is_output_known=fault != "journals overwritten")
        assert fault not in HARMLESS or asked.is_told_by(told), told
        await run_next(wire, witness, asked.pane)


@pytest.mark.parametrize("fault", FAULTS)
async def test_the_next_muxpilot_tells_the_truth_or_that_it_knows_nothing(
    place: Place, witness: Witness, fault: str
) -> None:
    async with killed_server(place) as first:
        asked, running = await begin_behind_barrier(place, first, witness)
    make_barrier(place).open()
    await is_written(witness.ended, asked.number)
    FAULTS[fault](place)
    async with one_server(place) as second:
        told = await call_and_wait(
            second, "get-command-result", commandId=running["commandId"], waitMs=WAIT_MS
        )
        if told["status"] == "refused":
            assert running["commandId"] in told["reason"], told
        else:
            check_truth(asked, told, is_output_known=fault != "journals overwritten")
        assert fault not in HARMLESS or asked.is_told_by(told), told
        await run_next(second, witness, asked.pane)
    assert witness.begun().count(asked.number) == 1


@pytest.fixture
def tiny_disk(place: Place) -> Iterator[Path]:
    """Mount a file system of 300 kB for all that is kept."""
    disk = find_root(place)
    disk.mkdir(parents=True)
    argv = ["mount", "-t", "tmpfs", "-o", "size=300k,mode=700", "muxpilot-test", str(disk)]
    if shutil.which("mount") is None or subprocess.run(argv, check=False).returncode:
        pytest.skip("this user cannot mount a file system")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill_disk(disk: Path) -> None:
    """Write until nothing more fits."""
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(512))


async def test_commands_run_on_a_full_disk_and_what_is_not_kept_is_told(
    place: Place, witness: Witness, tiny_disk: Path
) -> None:
    async with one_server(place) as wire:
        pane = await create_pane(place, wire)
        await run_next(wire, witness, pane)
        flood = await call_and_wait(
            wire, "execute-command", paneId=pane, command="seq 200000; sh -c 'exit 7'", maxOutputBytes=1000
        )
        is_lost = flood["status"] == "lost" and "interrupted" in flood["reason"]
        assert is_lost or (flood["status"], flood["exitCode"]) == ("failed", 7), flood
        assert flood["outputTruncated"] or flood["output"].endswith("\n200000\n"), flood
        fill_disk(tiny_disk)
        asked = witness.make_command("fails", pane)
        told = await call_and_wait(wire, "execute-command", paneId=pane, command=asked.text)
        check_truth(asked, told, is_output_known=True)
        assert witness.ended().count(asked.number) == 1
        (tiny_disk / "filler").unlink()
        await run_next(wire, witness, pane)


async def test_muxpilots_one_after_the_other_use_a_pane_on_a_disk_that_was_full_before(
    place: Place, witness: Witness, tiny_disk: Path
) -> None:
    """A journal that was begun there would drop what the shell answers to the second one."""
    fill_disk(tiny_disk)
    async with one_server(place) as first:
        pane = await create_pane(place, first)
        await run_next(first, witness, pane)
    for _ in range(2):
        async with one_server(place) as wire:
            await run_next(wire, witness, pane)
