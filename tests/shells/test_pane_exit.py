"""When a pane is released that was kept for the exit code of a command."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from muxpilot.shells.pane_context import PaneContext
from muxpilot.shells.pane_exit import ExitKeeper
from muxpilot.timing import ShellTiming
from muxpilot.trace import area

LIMIT_S = 10.0


class Releases:
    """An exit keeper without a pane, and when it has released it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, release_pane_s: float) -> None:
        pane = SimpleNamespace(timing=ShellTiming(release_pane_s=release_pane_s), trace=area("shells"))
        self.keeper = ExitKeeper(cast("PaneContext", pane), lambda *_, **__: None)
        self.times: list[float] = []
        self._released = asyncio.Event()
        monkeypatch.setattr(self.keeper, "_release_now", self._note)

    def _note(self) -> None:
        self.times.append(asyncio.get_running_loop().time())
        self._released.set()

    async def wait(self) -> float:
        async with asyncio.timeout(LIMIT_S):
            await self._released.wait()
        self._released.clear()
        return self.times[-1]


async def test_a_pane_is_released_after_the_last_of_several_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    releases, loop = Releases(monkeypatch, release_pane_s=1.0), asyncio.get_running_loop()
    releases.keeper.release_soon()
    ended = asyncio.Event()
    loop.call_later(0.1, ended.set)  # a second command has ended before the first release is due
    await ended.wait()
    releases.keeper.release_soon()
    second = loop.time()
    assert await releases.wait() >= second + 0.99
    assert len(releases.times) == 1
    releases.keeper.close()


async def test_a_pane_in_which_a_command_runs_is_not_released(monkeypatch: pytest.MonkeyPatch) -> None:
    releases, fired = Releases(monkeypatch, release_pane_s=0.05), asyncio.Event()
    releases.keeper.release_soon()
    monkeypatch.setattr(releases.keeper, "_is_kept", True)
    await releases.keeper.keep_pane()  # the next command: the pane is kept already
    asyncio.get_running_loop().call_later(0.1, fired.set)
    await fired.wait()
    assert releases.times == []
    releases.keeper.close()
