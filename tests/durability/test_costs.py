"""What journals and records cost: nothing is written while nothing is printed, and only pipes stay behind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.rigs.muxpilots import one_server
from tests.rigs.shell_panes import create_pane, create_plain_pane
from tests.rigs.waiting import eventually
from tests.rigs.wire import Place, Wire

# A watch for what never comes lasts so long: the time in which nothing may be written.
SILENCE_S = 3

Snapshot = dict[Path, tuple[int, int]]


def take_snapshot(*folders: Path) -> Snapshot:
    """Return the sizes and times of all files and folders below some folders."""
    paths = [path for folder in folders for path in folder.rglob("*")]
    return {path: ((stat := path.lstat()).st_size, stat.st_mtime_ns) for path in paths}


async def wait_in_silence(wire: Wire, pane: str, *, seconds: int) -> None:
    told = await wire.call("watch-pane", paneId=pane, triggers="pattern:never", timeout=seconds)
    assert told["event"] == "timeout", told


async def test_nothing_is_written_while_nothing_is_printed(place: Place) -> None:
    async with one_server(place) as first, one_server(place) as second:
        panes = [await create_pane(place, first), create_plain_pane(place)]
        for pane in panes:
            for wire in (first, second):
                assert (await wire.call("execute-command", paneId=pane, command="echo a"))["exitCode"] == 0
            await first.call("notify-when", paneId=pane, triggers="pattern:never", timeout=600)
        running = await second.call("execute-command", paneId=panes[0], command="read line", waitMs=1000)
        assert running["waitingForInput"], running
        await wait_in_silence(first, panes[0], seconds=2)  # remain-on-exit is restored in this time
        before = take_snapshot(place.home, place.passing)
        assert any(path.name == "records" for path in before)
        await asyncio.gather(
            wait_in_silence(first, panes[0], seconds=SILENCE_S),
            wait_in_silence(second, panes[1], seconds=SILENCE_S),
        )
        assert take_snapshot(place.home, place.passing) == before
        place.tmux("send-keys", "-t", panes[1], "echo b", "Enter")

        async def is_written() -> bool:
            return take_snapshot(place.home, place.passing) != before

        await eventually(is_written)


def list_processes(place: Place) -> set[int]:
    """Return the processes whose home folder is that of the place: muxpilot, tmux and all that they start."""
    wanted, found = f"HOME={place.home}".encode(), set()
    for entry in Path("/proc").iterdir():
        try:
            is_ours = entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended, or is another user's
        found |= {int(entry.name)} if is_ours else set()
    return found


def list_tree(pid: int) -> Iterable[int]:
    """Yield a process and all that it has started."""
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from list_tree(int(child))


def list_expected(place: Place) -> set[int]:
    """Return tmux, the programs of its panes, and the programs of their pipes."""
    panes = place.tmux("list-panes", "-a", "-F", "#{pane_pid}").split()
    pipes = [path.read_text() for path in place.home.rglob("*/pid")]
    roots = [int(number) for number in (*panes, *pipes)]
    return {
        int(place.tmux("display-message", "-p", "#{pid}")),
        *(p for root in roots for p in list_tree(root)),
    }


@pytest.mark.parametrize("is_killed", [False, True], ids=["ends", "killed"])
async def test_no_process_stays_behind_but_the_programs_of_pipes(place: Place, is_killed: bool) -> None:
    async with place.serve("--scope", "all", is_new=True) as wire:
        await wire.shake_hands()
        panes = [await create_pane(place, wire), create_plain_pane(place)]
        for pane in panes:
            assert (await wire.call("execute-command", paneId=pane, command="echo a"))["exitCode"] == 0
            await wire.call("notify-when", paneId=pane, triggers="pattern:never,port:1", timeout=600)
        await wire.call("execute-command", paneId=panes[0], command="sleep 600", waitMs=0)
        others = list_processes(place) - list_expected(place)
        assert wire.pid in others  # and its control client
        assert len(others) > 1
        if is_killed:
            os.kill(wire.pid, signal.SIGKILL)
            await wire.wait_for_exit()

    async def is_alone() -> bool:
        return not list_processes(place) - list_expected(place)

    await eventually(is_alone)
    pipes = [int(path.read_text()) for path in place.home.rglob("*/pid")]
    assert len(pipes) == len(panes)
    assert all(pid in list_processes(place) for pid in pipes)
