"""The server ends quickly and leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rigs.waiting import eventually, is_running, within
from tests.rigs.wire import Place, Wire, private_place

THEIRS = ("theirs1", "theirs2", "theirs3")
WAYS = ("eof", "SIGTERM", "SIGINT", "SIGHUP")
# A server that has the time to answer on a machine that has none.
PATIENT = (
    "import sys\n"
    "from muxpilot.cli.main import main\n"
    "from muxpilot.server import stdio\n"
    "for name in ('_FINISH_S', '_FLUSH_S'):\n"
    "    assert hasattr(stdio, name), name\n"
    "    setattr(stdio, name, 15.0)\n"
    "sys.exit(main(sys.argv[1:]))\n"
)


@pytest.fixture
def place() -> Iterator[Place]:
    with private_place() as place:
        yield place


@pytest.mark.parametrize("way", WAYS)
async def test_in_the_middle_of_everything(place: Place, way: str) -> None:
    async with place.serve(is_new=True) as wire:
        await make_busy(wire, place)
        children = _children(wire.pid)
        assert len(children) >= 1 + len(THEIRS), "the connection, and one for each session that is followed"
        await _end(wire, way)
        assert wire.process.returncode == 0
        assert await wire.stderr() == ""
    await eventually(lambda: _have_ended(children))
    assert list(place.passing.iterdir()) == []
    await eventually(lambda: is_tmux_untouched(place))


@pytest.mark.parametrize("way", WAYS)
async def test_while_tmux_is_stopped(place: Place, way: str) -> None:
    async with place.serve() as wire:
        await make_busy(wire, place)
        children = _children(wire.pid)
        with place.tmux_stopped():
            await wire.start_call("list-sessions")
            assert await wire.result("ping") == {}
            await _end(wire, way)
            assert wire.process.returncode == 0
            await eventually(lambda: _have_ended(children))
            assert list(place.passing.iterdir()) == []
    await eventually(lambda: is_tmux_untouched(place))


@pytest.mark.parametrize(("way", "requests"), [("eof", 400), ("SIGTERM", 400), ("SIGTERM", 600)])
async def test_while_the_client_does_not_read(place: Place, way: str, requests: int) -> None:
    """Send 600 requests, more than are served at once."""
    async with place.serve() as wire:
        await make_busy(wire, place)
        await wire.stop_reading()
        for _ in range(requests):
            await wire.start("tools/list")
        await _end(wire, way)
        assert wire.process.returncode == 0
    await eventually(lambda: is_tmux_untouched(place))


async def test_before_anything_was_asked(place: Place) -> None:
    async with place.serve() as wire:
        assert await wire.close_stdin() == 0
        assert await wire.stderr() == ""
    assert list(place.passing.iterdir()) == []


async def test_answers_that_are_due_are_whole_when_the_client_has_closed_its_end(place: Place) -> None:
    """Check that an answer is never cut in the middle for a client that closes stdin and reads on."""
    async with place.serve(program=PATIENT) as wire:
        await wire.shake_hands()
        await wire.stop_reading()
        pending = [await wire.start("tools/list") for _ in range(20)]
        await wire.start("ping")
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        wire.resume_reading()
        assert await wire.wait_for_exit() == 0
        await wire.wait_until_all_read()
        answers = [answer.result() for answer in pending]
    assert all(answer.get("error", {"code": -32000})["code"] == -32000 for answer in answers)


async def test_who_closes_the_end_after_the_last_question_still_gets_the_answers(place: Place) -> None:
    """Close stdin after the last request, as `printf … | muxpilot` does, also without a final line feed."""
    place.tmux("new-session", "-d", "-s", "theirs", "cat")
    async with place.serve(program=PATIENT) as wire:
        await wire.shake_hands()
        asked = [
            await wire.start_call("list-panes"),
            await wire.start_call("capture-pane", paneId="theirs:0.0"),
        ]
        await wire.write(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
        assert await wire.close_stdin() == 0
        await wire.wait_until_all_read()
        assert [answer.result()["result"]["isError"] for answer in asked] == [False, False]
        assert wire.unasked == [{"jsonrpc": "2.0", "id": "last", "result": {}}]


async def make_busy(wire: Wire, place: Place) -> None:
    """Create a pane, follow and read a person's panes, and leave a call running.

    The person's panes have pipes of their own, so that they are followed by control clients.
    """
    for name in THEIRS:
        place.tmux("new-session", "-d", "-s", name, "cat")
        place.tmux("pipe-pane", "-t", f"{name}:", "cat >/dev/null")
    await wire.shake_hands()
    ours = await wire.call("create-session", name="ours", command="cat")
    await wire.call("read-pane", paneId=ours["paneId"])
    for pane in place.tmux(
        "list-panes", "-a", "-f", "#{m:theirs*,#{session_name}}", "-F", "#{pane_id}"
    ).split():
        await wire.result("resources/subscribe", {"uri": f"tmux://pane/{pane}"})
        await wire.call("read-pane", paneId=pane)
    await wire.start_call("send-keys", paneId=ours["paneId"], keys="x" * 100, delayMs=1000)
    await wire.result("resources/list")


async def _end(wire: Wire, way: str) -> None:
    with within(5):
        if way == "eof":
            await wire.close_stdin()
        else:
            os.kill(wire.pid, signal.Signals[way])
            await wire.wait_for_exit()


async def _have_ended(pids: list[int]) -> bool:
    return not any(is_running(pid) for pid in pids)


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listed.split()]


async def is_tmux_untouched(place: Place) -> bool:
    """Return whether the sessions are there, no client is attached, and only our own pane has a journal."""
    sessions = place.tmux("list-sessions", "-F", "#{session_name} #{session_attached}").splitlines()
    journals = place.tmux("list-panes", "-a", "-F", "#{session_name}", "-f", "#{@muxpilot_journal}").split()
    is_alone = sorted(sessions) == sorted(f"{name} 0" for name in ("ours", *THEIRS))
    return is_alone and journals == ["ours"]
