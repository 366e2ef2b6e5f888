"""However a debug server ends, its session and all that its panes started are gone; others' stay."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from muxpilot.processes import process_tree
from tests.dialects.conftest import Speaker, speaking
from tests.dialects.test_debug import stubborn
from tests.rigs.waiting import LIMIT_S, eventually, is_running
from tests.rigs.wire import Place

WAYS = ("eof", "SIGTERM", "SIGINT", "SIGHUP")


def sessions(place: Place) -> list[str]:
    return place.tmux("list-sessions", "-F", "#{session_name}").splitlines()


async def end(debug: Speaker, way: str) -> None:
    """With stdin open, unless its end is the way."""
    if way == "eof":
        await debug.wire.leave()
    else:
        os.kill(debug.wire.pid, signal.Signals[way])
        await debug.wire.ended()


@pytest.mark.parametrize("way", WAYS)
async def test_cleanup_on_exit_leaves_nothing(place: Place, way: str) -> None:
    place.tmux("new-session", "-d", "-s", "person", "cat")
    async with speaking(place, "debug") as debug:
        pids = await stubborn(debug)
        await end(debug, way)
        assert debug.wire.process.returncode == 0
        assert await debug.wire.stderr() == ""
    assert not any(is_running(pid) for pid in pids)
    await eventually(lambda: _is_alone(place))


async def test_processes_are_gone_even_if_tmux_does_not_answer(place: Place) -> None:
    place.tmux("new-session", "-d", "-s", "person", "cat")
    async with speaking(place, "debug") as debug:
        pids = await stubborn(debug)
        with place.stopped():
            await end(debug, "SIGTERM")
            assert not any(is_running(pid) for pid in pids)
    async with speaking(place, "debug"):
        await eventually(lambda: _is_alone(place))


async def test_cleanup_of_what_a_killed_server_left_is_done_by_the_next_start(place: Place) -> None:
    """Only that: neither a live server's session nor one that looks alike is touched."""
    place.tmux("new-session", "-d", "-s", "person", "cat")
    place.tmux("new-session", "-d", "-s", "debug-99999999", "cat")
    async with speaking(place, "debug") as alive, speaking(place, "debug") as killed:
        await alive.says("tmux_create_pane", command="cat")
        pids = await stubborn(killed)
        killed.wire.process.kill()
        await killed.wire.ended()
        assert f"debug-{killed.wire.pid}" in sessions(place)
        async with speaking(place, "debug"):

            async def is_reaped() -> bool:
                # Not asked of tmux: to ask 3.3a all the time while somebody connects crashes it.
                return not any(map(is_running, pids))

            await eventually(is_reaped)
            left = [name for name in sessions(place) if "hub" not in name]
            assert sorted(left) == sorted(["person", "debug-99999999", f"debug-{alive.wire.pid}"])
        assert "running" in await alive.says("tmux_list_panes")


async def test_what_ignores_every_signal_is_killed_even_where_there_was_no_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a crowded machine all of the time may be over before anything was done in it."""
    monkeypatch.setattr(process_tree, "_GRACE_S", 0.0)
    monkeypatch.setattr(process_tree, "_LIMIT_S", 0.0)
    child = await asyncio.create_subprocess_exec(
        *("sh", "-c", "trap '' TERM; echo; exec sleep 60"),  # what a loop has just begun would hold the pipe
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, process_tree.VARIABLE: "crowded.1."},
    )
    assert child.stdout is not None
    async with asyncio.timeout(LIMIT_S):
        await child.stdout.readline()
        process_tree.end("crowded.", set())
        assert await child.wait() == -signal.SIGKILL


async def _is_alone(place: Place) -> bool:
    return [name for name in sessions(place) if "hub" not in name] == ["person"]
