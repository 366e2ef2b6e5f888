"""When a pane is released that was kept for the exit code of a command."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from muxpilot.processes.proc import OpenStatFiles
from muxpilot.shells.pane_context import PaneContext
from muxpilot.shells.pane_exit import ExitKeeper
from muxpilot.timing import ShellTiming
from muxpilot.trace import area

LIMIT_S = 10.0


async def test_a_pane_is_released_after_a_while_and_not_while_a_command_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released, fired, loop = asyncio.Event(), asyncio.Event(), asyncio.get_running_loop()
    monkeypatch.setattr(ExitKeeper, "_release_now", lambda _: released.set())
    timing, files = ShellTiming(release_pane_s=0.05), OpenStatFiles()
    pane = SimpleNamespace(timing=timing, trace=area("shells"), stat_files=files)
    keeper = ExitKeeper(cast("PaneContext", pane), lambda *_, **__: None)
    keeper.release_soon()
    monkeypatch.setattr(keeper, "_is_kept", True)
    await keeper.keep_pane()  # the next command: the pane is kept already
    loop.call_later(0.1, fired.set)
    await fired.wait()
    assert not released.is_set()
    keeper.release_soon()
    async with asyncio.timeout(LIMIT_S):
        await released.wait()
    keeper.close()
