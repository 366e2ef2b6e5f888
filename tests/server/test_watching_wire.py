"""Watches as a client sees them: progress by mode, cancellation, subscription and the channel."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.rigs.waiting import eventually
from tests.rigs.wire import LIMIT_S, Message, Pending, Place, Wire, private_place

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRESS = "notifications/progress"
CHANNEL = "notifications/claude/channel"
UPDATED = "notifications/resources/updated"

HANDSHAKES: dict[int, Message] = {}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place() -> AsyncIterator[Place]:
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "home", "cat")
        yield place


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plain(place: Place) -> AsyncIterator[Wire]:
    async with place.serve("--scope", "all") as wire:
        HANDSHAKES[wire.pid] = await wire.shake_hands()
        yield wire


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def channel(place: Place) -> AsyncIterator[Wire]:
    async with place.serve("--channel") as wire:
        HANDSHAKES[wire.pid] = await wire.shake_hands()
        yield wire


async def window(place: Place, command: str = "exec cat") -> str:
    """Create a window of a person, whose terminal does not echo, and return its pane once it runs."""
    command = f"stty -echo; echo begun; {command}"
    pane = place.tmux("new-window", "-d", "-t", "=home:", "-P", "-F", "#{pane_id}", command)

    async def has_begun() -> bool:
        return "begun" in place.tmux("capture-pane", "-p", "-t", pane)

    await eventually(has_begun)
    return pane


def is_notification(method: str) -> Any:
    return lambda message: message["method"] == method


async def start_watch(wire: Wire, mode: str, token: str | None, **arguments: Any) -> Pending:
    """Start a watch-pane call, with or without a token for progress."""
    call = {"name": "watch-pane", "arguments": {"mode": mode, **arguments}}
    return await wire.start("tools/call", call | ({"_meta": {"progressToken": token}} if token else {}))


def progress_messages(wire: Wire) -> list[Message]:
    found = [message["params"] for message in wire.notices if message["method"] == PROGRESS]
    wire.notices.clear()
    return found


TICKING = "while :; do echo tick; sleep 0.1; done"


@pytest.mark.parametrize("mode", ["line", "quick"])
async def test_progress_is_told_as_often_as_the_mode_says(plain: Wire, place: Place, mode: str) -> None:
    """Wait much less than the half minute after which every mode reports something."""
    pane = await window(place, TICKING)
    call = await start_watch(plain, mode, f"token-{mode}", paneId=pane, triggers="bell", timeout=25)
    told = [(await plain.wait_for_notification(is_notification(PROGRESS)))["params"] for _ in range(2)]
    await plain.notify("notifications/cancelled", {"requestId": call.id})
    place.tmux("kill-pane", "-t", pane)
    assert await plain.result("ping") == {}
    told += progress_messages(plain)
    assert {row["progressToken"] for row in told} == {f"token-{mode}"}
    assert [row["progress"] for row in told] == sorted({row["progress"] for row in told})
    for row in told:
        assert row["total"] == 25
        assert row["message"].startswith(f"[{pane} +")
        assert row["message"].endswith((" new lines", " new line"))


@pytest.mark.parametrize(
    ("mode", "token"), [("slow", "token-slow"), ("screen", "token-screen"), ("line", None)]
)
async def test_other_modes_tell_less_and_without_a_token_nothing_is_told(
    plain: Wire, place: Place, mode: str, token: str | None
) -> None:
    pane = await window(place, TICKING)
    await asyncio.wait_for(
        await start_watch(plain, mode, token, paneId=pane, triggers="bell", timeout=1.3), LIMIT_S
    )
    place.tmux("kill-pane", "-t", pane)
    assert progress_messages(plain) == []


async def test_a_cancelled_watch_lets_go_at_once(plain: Wire, place: Place) -> None:
    place.tmux("new-session", "-d", "-s", "other", "cat")
    pane = place.tmux("display-message", "-p", "-t", "=other:", "#{pane_id}")
    place.tmux("pipe-pane", "-t", pane, "cat >/dev/null")  # so that it is followed by a client

    async def follows() -> bool:
        return bool(place.tmux("list-clients", "-t", "=other"))

    async def left() -> bool:
        return not await follows()

    call = await plain.start_call("watch-pane", paneId=pane, triggers="bell,port:1", timeout=600)
    await eventually(follows)
    await plain.notify("notifications/cancelled", {"requestId": call.id})
    await eventually(left)
    assert not call.done(), "a cancelled call is never answered"
    place.tmux("kill-session", "-t", "=other")


async def test_fifty_watches_at_once_each_hear_their_own_pane(plain: Wire, place: Place) -> None:
    panes = await asyncio.gather(*(window(place) for _ in range(50)))
    ids = [
        (await plain.call("notify-when", paneId=pane, triggers="pattern:.", timeout=60))["watchId"]
        for pane in panes
    ]
    for number, pane in enumerate(panes):
        await plain.call("send-keys", paneId=pane, keys=f"number {number}", enter=True)

    async def reports() -> list[Message]:
        rows = [await plain.call("get-watch", watchId=watch) for watch in ids]
        return rows if all(row["status"] == "done" for row in rows) else []

    rows = await eventually(reports)
    assert isinstance(rows, list)
    assert [row["detail"] for row in rows] == [
        f'Matched pattern ".": number {number}' for number in range(50)
    ]
    for pane in panes:
        place.tmux("kill-pane", "-t", pane)


async def test_a_subscriber_of_a_watch_is_told_when_it_ends(plain: Wire, place: Place) -> None:
    pane = await window(place)
    watch = (await plain.call("notify-when", paneId=pane, triggers="pattern:x", timeout=60))["watchId"]
    uri = f"tmux://watch/{watch}"
    await plain.result("resources/subscribe", {"uri": uri})
    listed = await plain.result("resources/list")
    assert uri in [row["uri"] for row in listed["resources"]]
    await plain.call("send-keys", paneId=pane, keys="x", enter=True)
    told = await plain.wait_for_notification(is_notification(UPDATED))
    assert told["params"]["uri"] == uri
    [content] = (await plain.result("resources/read", {"uri": uri}))["contents"]
    assert json.loads(content["text"])["status"] == "done"
    place.tmux("kill-pane", "-t", pane)


async def test_a_watch_that_is_not_there_is_no_resource(plain: Wire) -> None:
    for method in ("resources/read", "resources/subscribe"):
        assert (await plain.error(method, {"uri": "tmux://watch/w0"}))["code"] == -32002


async def test_a_channel_is_declared_only_when_asked_for(plain: Wire, channel: Wire) -> None:
    assert HANDSHAKES[channel.pid]["capabilities"]["experimental"] == {"claude/channel": {}}
    assert "claude/channel" not in HANDSHAKES[plain.pid]["capabilities"].get("experimental", {})
    tools = {row["name"] for row in (await channel.result("tools/list"))["tools"]}
    assert {"notify-when", "get-watch", "cancel-watch"} <= tools


async def test_a_watch_that_ends_is_pushed_before_its_result(channel: Wire, place: Place) -> None:
    pane = await window(place)
    answer = await channel.call("watch-pane", paneId=pane, triggers="idle:0.1")
    [pushed] = [message["params"] for message in channel.notices if message["method"] == CHANNEL]
    channel.notices.clear()
    assert pushed["content"] == f"tmux pane {pane}: idle:0.1 — No new output for 0.1s"
    assert pushed["meta"] == {
        "paneId": pane,
        "event": "idle:0.1",
        "detail": "No new output for 0.1s",
        "elapsedSecs": f"{answer['elapsed']:.2f}",
        "exitCode": "",
        "isAlive": "true",
    }
    place.tmux("kill-pane", "-t", pane)


async def test_a_watch_nobody_waits_for_is_pushed_too_with_the_exit_code(channel: Wire) -> None:
    made = await channel.call("create-session", name="pushed", command="read -r x; exit 5")
    await channel.call("notify-when", paneId=made["paneId"], triggers="exit", timeout=60)
    await channel.call("send-keys", paneId=made["paneId"], keys="x", enter=True)
    pushed = (await channel.wait_for_notification(is_notification(CHANNEL)))["params"]
    assert pushed["content"].startswith(f"tmux pane {made['paneId']}: process exited (code 5). ")
    assert (pushed["meta"]["exitCode"], pushed["meta"]["isAlive"]) == ("5", "false")
    assert all(isinstance(value, str) for value in pushed["meta"].values())


async def test_nothing_is_pushed_without_a_channel(plain: Wire, place: Place) -> None:
    pane = await window(place)
    await plain.call("watch-pane", paneId=pane, triggers="idle:0.1")
    assert CHANNEL not in {message["method"] for message in plain.notices}
    place.tmux("kill-pane", "-t", pane)
