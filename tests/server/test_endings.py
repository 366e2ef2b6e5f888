"""However a server ends, it is quick and leaves nothing behind."""

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
    "stdio._PATIENCE_S = stdio._GRACE_S = 15.0\n"
    "sys.exit(main(sys.argv[1:]))\n"
)


@pytest.fixture
def place() -> Iterator[Place]:
    with private_place() as place:
        yield place


@pytest.mark.parametrize("way", WAYS)
async def test_in_the_middle_of_everything(place: Place, way: str) -> None:
    async with place.serve() as wire:
        await _be_busy(wire, place)
        children = _children(wire.pid)
        assert len(children) >= 1 + len(THEIRS), "the connection, and one for each session that is followed"
        await _end(wire, way)
        assert wire.process.returncode == 0
        assert await wire.stderr() == ""
    await eventually(lambda: _have_ended(children))
    assert list(place.passing.iterdir()) == []
    await eventually(lambda: _is_left_alone(place))


@pytest.mark.parametrize("way", WAYS)
async def test_while_tmux_is_stopped(place: Place, way: str) -> None:
    async with place.serve() as wire:
        await _be_busy(wire, place)
        children = _children(wire.pid)
        with place.stopped():
            await wire.start_call("list-sessions")
            assert await wire.result("ping") == {}
            await _end(wire, way)
            assert wire.process.returncode == 0
            await eventually(lambda: _have_ended(children))
            assert list(place.passing.iterdir()) == []
    # A pipe goes with the next output of its pane; a tmux that is stopped cannot be asked to end it.
    await eventually(lambda: _is_left_alone(place, may_pipe=True))


@pytest.mark.parametrize(("way", "requests"), [("eof", 400), ("SIGTERM", 400), ("SIGTERM", 600)])
async def test_while_the_client_does_not_read(place: Place, way: str, requests: int) -> None:
    """With 600 requests, more than are served at once."""
    async with place.serve() as wire:
        await _be_busy(wire, place)
        await wire.stop_reading()
        for _ in range(requests):
            await wire.start("tools/list")
        await _end(wire, way)
        assert wire.process.returncode == 0
    await eventually(lambda: _is_left_alone(place))


async def test_before_anything_was_asked(place: Place) -> None:
    async with place.serve() as wire:
        assert await wire.leave() == 0
        assert await wire.stderr() == ""
    assert list(place.passing.iterdir()) == []


async def test_answers_that_are_due_are_whole_when_the_client_has_closed_its_end(place: Place) -> None:
    """A client may close its end and read on: what is written by then is never cut off in the middle."""
    async with place.serve(program=PATIENT) as wire:
        await wire.shake_hands()
        await wire.stop_reading()
        pending = [await wire.start("tools/list") for _ in range(20)]
        await wire.start("ping")
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        wire.read_on()
        assert await wire.ended() == 0
        await wire.finished()
        answers = [answer.result() for answer in pending]
    assert all(answer.get("error", {"code": -32000})["code"] == -32000 for answer in answers)


async def test_who_closes_the_end_after_the_last_question_still_gets_the_answers(place: Place) -> None:
    """As `printf … | muxpilot` does, where the last line may lack its line feed."""
    place.tmux("new-session", "-d", "-s", "theirs", "cat")
    async with place.serve(program=PATIENT) as wire:
        await wire.shake_hands()
        asked = [
            await wire.start_call("list-panes"),
            await wire.start_call("capture-pane", paneId="theirs:0.0"),
        ]
        await wire.write(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
        assert await wire.leave() == 0
        await wire.finished()
        assert [answer.result()["result"]["isError"] for answer in asked] == [False, False]
        assert wire.unasked == [{"jsonrpc": "2.0", "id": "last", "result": {}}]


async def _be_busy(wire: Wire, place: Place) -> None:
    """A pane of ours, a person's panes that are followed and read, and a call that is under way."""
    for name in THEIRS:
        place.tmux("new-session", "-d", "-s", name, "cat")
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
            await wire.leave()
        else:
            os.kill(wire.pid, signal.Signals[way])
            await wire.ended()


async def _have_ended(pids: list[int]) -> bool:
    return not any(is_running(pid) for pid in pids)


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listed.split()]


async def _is_left_alone(place: Place, *, may_pipe: bool = False) -> bool:
    """The sessions are there, nobody is attached, and no pane is piped."""
    sessions = place.tmux("list-sessions", "-F", "#{session_name} #{session_attached}").splitlines()
    pipes = place.tmux("list-panes", "-a", "-F", "#{pane_pipe}").split()
    is_alone = sorted(sessions) == sorted(f"{name} 0" for name in ("ours", *THEIRS))
    return is_alone and (may_pipe or set(pipes) == {"0"})
