"""What a muxpilot that ends in good order leaves behind: no dead pane, and no false end of a command."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from muxpilot.errors import Unavailable
from muxpilot.shells.command_phases import CommandStatus
from muxpilot.shells.pane_commands import PaneCommands
from muxpilot.shells.pane_exit import ExitKeeper
from muxpilot.tmux import PaneId
from muxpilot.tmux.streams.stream import STOPPED
from tests.rigs.waiting import eventually
from tests.shells.conftest import Barrier, Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")


def find_shell(desk: Desk, pane: str) -> PaneCommands:
    shell = desk.app.services.shells.find_pane(desk.app.servers.default, PaneId(pane))
    assert shell is not None
    return shell


async def start_command(desk: Desk, name: str) -> tuple[PaneCommands, Barrier, str]:
    """Run a command that ends when its barrier is opened."""
    pane, barrier = await desk.own_pane(), Barrier(desk.folder / name)
    await desk.run(pane, "true")
    answer = await desk.run(pane, barrier.command, timeoutSeconds=0.1)
    shell = find_shell(desk, pane)
    command = shell.shared_commands.known[answer["commandId"]]

    async def runs() -> bool:
        return command.status is CommandStatus.RUNNING

    await eventually(runs)
    return shell, barrier, command.id


async def check_only_lost_here(shell: PaneCommands, command_id: str) -> None:
    """Check that the command is lost for this process, and that nothing of it is written down."""

    async def is_lost() -> bool:
        return shell.shared_commands.known[command_id].status is CommandStatus.LOST

    await eventually(is_lost)
    shell.shared_commands.sync()
    assert shell.shared_commands.log.history.commands[command_id].end is None


async def test_a_stop_while_a_pane_is_opened_ends_no_command(desk: Desk) -> None:
    shell, barrier, command_id = await start_command(desk, "opened")
    assert shell.pane.stream is not None
    shell.pane.stream.finish(None, STOPPED)  # as it happens before the pane is known to the registry
    await check_only_lost_here(shell, command_id)
    barrier.open()


async def test_a_request_that_fails_during_a_stop_ends_no_command(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> Any:
        raise Unavailable("The connection to tmux is closed.")

    shell, barrier, command_id = await start_command(desk, "request")
    await shell.exit_keeper.prepare_end()
    monkeypatch.setattr(shell.pane, "read_state", fail)
    shell.request_recheck()
    await check_only_lost_here(shell, command_id)
    barrier.open()


async def test_a_report_that_takes_too_long_leaves_no_dead_pane(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = asyncio.Event()

    async def wait(_: ExitKeeper) -> None:
        await released.wait()

    def list_panes() -> list[str]:
        return desk.run_tmux("list-panes", "-a", "-F", "#{pane_id}:#{pane_dead}").split()

    async def is_dead() -> bool:
        return f"{pane}:1" in list_panes()

    pane = await desk.own_pane()
    await desk.run(pane, "true")
    monkeypatch.setattr(ExitKeeper, "_wait_for_last_output", wait)
    answer = await desk.run(pane, "exit 3", timeoutSeconds=0.1)
    await eventually(is_dead)
    await find_shell(desk, pane).exit_keeper.prepare_end()
    assert f"{pane}:1" not in list_panes()
    released.set()
    assert (await desk.get_result(answer))["exitCode"] == 3


async def test_a_pane_that_is_idle_keeps_no_files_open_and_no_lock(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    shell = find_shell(desk, pane)
    assert is_locked(shell)  # the next command often follows at once
    shell.pane.stat_files.stat(shell.pane.row.pid)
    assert has_open(f"/proc/{shell.pane.row.pid}/stat")

    async def is_released() -> bool:
        return not is_locked(shell)

    await eventually(is_released)
    assert not has_open(f"/proc/{shell.pane.row.pid}/stat")
    assert (await desk.run(pane, "echo again"))["output"] == "again\n"


def is_locked(shell: PaneCommands) -> bool:
    return shell._lock._is_held


def has_open(path: str) -> bool:
    return any(os.readlink(link) == path for link in Path("/proc/self/fd").iterdir() if link.is_symlink())
