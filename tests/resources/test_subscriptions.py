"""Notifications of changes, in both protocol eras."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.rigs.wire import Message, Place, Wire

pytestmark = pytest.mark.asyncio(loop_scope="module")


UPDATED = "notifications/resources/updated"
LIST_CHANGED = "notifications/resources/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


@pytest.mark.parametrize("spelling", ["tmux://pane/{}", "tmux://pane/%25{}", "tmux://pane/{}/tail/5"])
async def test_a_subscriber_is_told_of_changes_by_the_address_it_gave(
    old: Wire, place: Place, pane: str, spelling: str
) -> None:
    uri = spelling.format(pane if "%25" not in spelling else pane[1:])
    assert await old.result("resources/subscribe", {"uri": uri}) == {}
    for _ in range(2):
        place.tmux("send-keys", "-t", pane, "x")
        assert (await _wait_for_update(old, uri))["params"] == {"uri": uri}
    await old.result("resources/unsubscribe", {"uri": uri})


async def test_unsubscribing_ends_it(old: Wire, place: Place, pane: str) -> None:
    uri, witness = f"tmux://pane/{pane}", f"tmux://pane/{pane}/tail/3"
    for address in (uri, witness):
        await old.result("resources/subscribe", {"uri": address})
    assert await old.result("resources/unsubscribe", {"uri": uri}) == {}
    assert await old.result("resources/unsubscribe", {"uri": uri}) == {}, "nothing more to end, and no fault"
    place.tmux("send-keys", "-t", pane, "x")
    await _wait_for_update(old, witness)
    place.tmux("kill-pane", "-t", pane)
    await _wait_for_update(old, witness)
    assert not any(notice["params"].get("uri") == uri for notice in old.notices if "params" in notice)


async def test_a_subscription_outlives_the_program_in_the_pane(place: Place, pane: str) -> None:
    uri = f"tmux://pane/{pane}"
    async with place.serve("--scope", "all") as wire:
        await wire.shake_hands()
        await wire.result("resources/subscribe", {"uri": uri})
        respawn = {"name": "respawn-pane", "arguments": {"paneId": pane, "command": "cat", "kill": True}}
        assert not (await wire.result("tools/call", respawn))["isError"]
        for _ in range(2):
            await _wait_for_update(wire, uri)  # the first program's end, the second's beginning
        for _ in range(2):
            place.tmux("send-keys", "-t", pane, "x")
            assert (await _wait_for_update(wire, uri))["params"] == {"uri": uri}


async def test_subscribing_twice_is_told_once(old: Wire, place: Place, pane: str) -> None:
    uri = f"tmux://pane/{pane}"
    for _ in range(2):
        await old.result("resources/subscribe", {"uri": uri})
    place.tmux("kill-pane", "-t", pane)
    await _wait_for_update(old, uri)
    await old.result("resources/list")
    assert not any(notice.get("params") == {"uri": uri} for notice in old.notices)


async def test_a_panes_death_is_told_and_is_the_last_that_is(old: Wire, place: Place) -> None:
    pane = place.tmux("new-window", "-d", "-t", "=home:", "-P", "-F", "#{pane_id}", "cat")
    uri = f"tmux://pane/{pane}"
    await old.result("resources/subscribe", {"uri": uri})
    place.tmux("kill-pane", "-t", pane)
    await _wait_for_update(old, uri)
    assert (await old.error("resources/subscribe", {"uri": uri}))["code"] == -32002


@pytest.mark.parametrize("uri", ["tmux://sessions", "tmux://session/home/tree", "tmux://pane/%9999", "x"])
async def test_what_cannot_be_followed_is_refused(old: Wire, uri: str) -> None:
    assert (await old.error("resources/subscribe", {"uri": uri}))["code"] == -32002


async def test_a_list_that_is_no_longer_true_is_told(place: Place) -> None:
    async with place.serve() as wire:
        await wire.shake_hands()
        await wire.result("resources/list")
        place.tmux("new-session", "-d", "-s", "coming")
        await wire.wait_for_notification(_is_list_changed)
        assert "Session coming" in await _list_resources(wire)
        place.tmux("kill-session", "-t", "=coming")
        await wire.wait_for_notification(_is_list_changed)
        assert "Session coming" not in await _list_resources(wire)
        place.tmux("new-window", "-d", "-t", "=home:", "-n", "passing", "exec sleep 1000")
        await wire.wait_for_notification(_is_list_changed)
        place.tmux("split-window", "-d", "-t", "=home:passing", "exec sleep 1000")  # nobody follows it
        await wire.wait_for_notification(_is_list_changed)
        place.tmux("kill-window", "-t", "=home:passing")
        await wire.wait_for_notification(_is_list_changed)


async def test_what_leaves_the_list_as_it_is_is_not_told(place: Place) -> None:
    async with place.serve() as wire:
        await wire.shake_hands()
        await wire.result("resources/list")
        place.tmux("rename-window", "-t", "=home:first", "second")
        place.tmux("rename-window", "-t", "=home:second", "first")
        async with place.serve() as another:  # its connection to tmux is a session that comes and goes
            await another.shake_hands()
            await another.call("list-sessions")
        place.tmux("new-session", "-d", "-s", "witness")
        await wire.wait_for_notification(_is_list_changed)
        place.tmux("kill-session", "-t", "=witness")
        assert wire.notices == []


async def test_a_modern_listener_is_told_of_what_it_listens_to(modern: Wire, place: Place, pane: str) -> None:
    uri, other = f"tmux://pane/%25{pane[1:]}", f"tmux://pane/{pane}"
    stream = await _listen(modern, resourceSubscriptions=[uri, "tmux://pane/%9999", "tmux://sessions", uri])
    assert stream.honoured == {"resourceSubscriptions": [uri]}, "only what can be followed"
    for _ in range(2):
        place.tmux("send-keys", "-t", pane, "x")
        params = (await _wait_for_update(modern, uri))["params"]
        assert params["_meta"][SUBSCRIPTION] == stream.id
    await modern.notify("notifications/cancelled", {"requestId": stream.id})
    witness = await _listen(modern, resourceSubscriptions=[other])
    place.tmux("send-keys", "-t", pane, "x")
    await _wait_for_update(modern, other)
    place.tmux("kill-pane", "-t", pane)
    await _wait_for_update(modern, other)
    assert not any(notice["params"].get("uri") == uri for notice in modern.notices)
    await modern.notify("notifications/cancelled", {"requestId": witness.id})


async def test_two_modern_listeners_are_told_once_each(modern: Wire, place: Place, pane: str) -> None:
    uri = f"tmux://pane/{pane}"
    streams = [await _listen(modern, resourceSubscriptions=[uri]) for _ in range(2)]
    place.tmux("kill-pane", "-t", pane)
    told = {(await _wait_for_update(modern, uri))["params"]["_meta"][SUBSCRIPTION] for _ in streams}
    assert told == {stream.id for stream in streams}
    await modern.result("resources/list")
    assert not any(notice["params"].get("uri") == uri for notice in modern.notices)
    for stream in streams:
        await modern.notify("notifications/cancelled", {"requestId": stream.id})


async def test_a_modern_listener_is_told_of_the_list(place: Place) -> None:
    async with place.serve() as wire:
        wire.use_modern_revision()
        stream = await _listen(wire, resourcesListChanged=True, toolsListChanged=True)
        assert stream.honoured == {"resourcesListChanged": True}, "the tools never change"
        place.tmux("new-session", "-d", "-s", "passing")
        notice = await wire.wait_for_notification(_is_list_changed)
        assert notice["params"]["_meta"][SUBSCRIPTION] == stream.id
        place.tmux("kill-session", "-t", "=passing")
        await wire.wait_for_notification(_is_list_changed)
        witness = await _listen(wire, resourcesListChanged=True)
        await wire.notify("notifications/cancelled", {"requestId": stream.id})
        await wire.result("server/discover")  # answered once that was heard
        place.tmux("new-session", "-d", "-s", "staying")
        assert (await wire.wait_for_notification(_is_list_changed))["params"]["_meta"][
            SUBSCRIPTION
        ] == witness.id
        place.tmux("kill-session", "-t", "=staying")
        assert (await wire.wait_for_notification(_is_list_changed))["params"]["_meta"][
            SUBSCRIPTION
        ] == witness.id


@dataclass(frozen=True)
class Stream:
    id: int
    honoured: Message


async def _listen(wire: Wire, **wanted: Any) -> Stream:
    """Open a stream and wait until it is acknowledged."""
    request = await wire.start("subscriptions/listen", {"notifications": wanted})
    told = await wire.wait_for_notification(lambda notice: bool(notice["method"] == ACKNOWLEDGED))
    assert told["params"]["_meta"][SUBSCRIPTION] == request.id
    return Stream(request.id, told["params"]["notifications"])


async def _list_resources(wire: Wire) -> set[str]:
    return {row["name"] for row in (await wire.result("resources/list"))["resources"]}


async def _wait_for_update(wire: Wire, uri: str) -> Message:
    return await wire.wait_for_notification(
        lambda notice: notice["method"] == UPDATED and notice["params"]["uri"] == uri
    )


def _is_list_changed(notice: Message) -> bool:
    return bool(notice["method"] == LIST_CHANGED)
