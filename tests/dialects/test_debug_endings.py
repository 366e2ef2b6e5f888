"""However a debug server ends, its session and all processes of its panes end. Those of others stay."""

from __future__ import annotations

import os
import signal

import pytest

from tests.dialects.conftest import DialectClient, speaking
from tests.dialects.test_debug import stubborn
from tests.rigs.waiting import eventually, is_running
from tests.rigs.wire import Place

WAYS = ("eof", "SIGTERM", "SIGINT", "SIGHUP")


def sessions(place: Place) -> list[str]:
    return place.tmux("list-sessions", "-F", "#{session_name}").splitlines()


async def end(debug: DialectClient, way: str) -> None:
    """Keep stdin open, unless its end is what ends the server."""
    if way == "eof":
        await debug.wire.close_stdin()
    else:
        os.kill(debug.wire.pid, signal.Signals[way])
        await debug.wire.wait_for_exit()


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
        with place.tmux_stopped():
            await end(debug, "SIGTERM")
            assert not any(is_running(pid) for pid in pids)
    async with speaking(place, "debug"):
        await eventually(lambda: _is_alone(place))


async def test_cleanup_of_what_a_killed_server_left_is_done_by_the_next_start(place: Place) -> None:
    """The session of a running server, or one with a similar name, is not touched."""
    place.tmux("new-session", "-d", "-s", "person", "cat")
    place.tmux("new-session", "-d", "-s", "debug-99999999", "cat")
    async with speaking(place, "debug") as alive, speaking(place, "debug") as killed:
        await alive.says("tmux_create_pane", command="cat")
        pids = await stubborn(killed)
        killed.wire.process.kill()
        await killed.wire.wait_for_exit()
        assert f"debug-{killed.wire.pid}" in sessions(place)
        async with speaking(place, "debug"):

            async def is_reaped() -> bool:
                # Do not ask tmux: frequent requests while a client connects crash tmux 3.3a.
                return not any(map(is_running, pids))

            await eventually(is_reaped)
            left = [name for name in sessions(place) if "hub" not in name]
            assert sorted(left) == sorted(["person", "debug-99999999", f"debug-{alive.wire.pid}"])
        assert "running" in await alive.says("tmux_list_panes")


async def _is_alone(place: Place) -> bool:
    return [name for name in sessions(place) if "hub" not in name] == ["person"]
