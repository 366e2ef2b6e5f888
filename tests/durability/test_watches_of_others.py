"""Background watches that one muxpilot began and another one tells, cancels or continues."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from typing import Any

import pytest

from tests.durability.test_cursors_and_watches import (
    TRIGGER,
    open_pane,
    start_watch,
    type_line,
    wait_for_watch,
)
from tests.rigs.http_server import serving_http
from tests.rigs.muxpilots import call_and_wait, killed_server, one_server
from tests.rigs.shell_panes import create_plain_pane
from tests.rigs.waiting import eventually
from tests.rigs.wire import LIMIT_S, Place, Wire, command, environment

CHANNEL = ("--scope", "all", "--channel")
PUSHED = "notifications/claude/channel"
UPDATED = "notifications/resources/updated"


async def print_event(place: Place, pane: str) -> None:
    await type_line(place, pane, "echo the-ev''ent", shows="the-event")


async def wait_until_pane_has_ended(place: Place, pane: str) -> None:
    async def has_ended() -> bool:
        return f"{pane}:0" not in place.tmux("list-panes", "-a", "-F", "#{pane_id}:#{pane_dead}").split()

    await eventually(has_ended)


def pushed(wire: Wire) -> list[Any]:
    return [message for message in wire.notices if message["method"] == PUSHED]


async def test_another_muxpilot_cancels_a_watch_and_its_owner_stops_it(place: Place) -> None:
    async with one_server(place, *CHANNEL) as first, one_server(place) as second:
        pane = await open_pane(place, first, is_own=True)
        watch = await start_watch(first, pane)
        assert (await call_and_wait(second, "get-watch", watchId=watch))["status"] == "watching"
        assert (await second.call("cancel-watch", watchId=watch))["cancelled"] is True
        await print_event(place, pane)
        for wire in (first, second):
            assert (await call_and_wait(wire, "get-watch", watchId=watch))["status"] == "cancelled"
            assert (await wire.call("cancel-watch", watchId=watch))["cancelled"] is False
        # A watch that begins later tells its end: by then the other one would have told its own.
        later = await start_watch(first, pane)
        await type_line(place, pane, "clear; echo the-ev''ent", shows="the-event")
        await wait_for_watch(first, later)
        assert len(pushed(first)) == 1


async def test_a_subscriber_of_another_muxpilot_is_told_when_a_watch_ends(place: Place) -> None:
    async with one_server(place) as first, one_server(place) as second:
        pane = await open_pane(place, first, is_own=True)
        watch = await start_watch(first, pane)
        uri = f"tmux://watch/{watch}"
        await second.result("resources/subscribe", {"uri": uri})
        await print_event(place, pane)
        told = await second.wait_for_notification(lambda notice: notice["method"] == UPDATED)
        assert told["params"]["uri"] == uri
        listed = (await second.result("resources/list"))["resources"]
        assert uri in [row["uri"] for row in listed]


async def test_the_end_of_a_watch_is_pushed_by_the_muxpilot_that_took_it_over(place: Place) -> None:
    async with one_server(place, *CHANNEL) as second:
        await second.call("list-panes")
        async with killed_server(place) as first:
            pane = await open_pane(place, first, is_own=True)
            watch = await start_watch(first, pane)
        # The second one is not asked again: it has noticed the watch, and notices that its owner is gone.
        await print_event(place, pane)
        told = await second.wait_for_notification(lambda notice: notice["method"] == PUSHED)
        assert told["params"]["meta"]["event"] == TRIGGER
        assert (await call_and_wait(second, "get-watch", watchId=watch))["event"] == TRIGGER


async def test_a_watch_of_a_stopped_muxpilot_is_taken_over_and_told_once(place: Place) -> None:
    async with one_server(place, *CHANNEL) as first, one_server(place, *CHANNEL) as second:
        pane = await open_pane(place, first, is_own=True)
        watch = await start_watch(first, pane)
        with first.stopped():
            await print_event(place, pane)
            told = await wait_for_watch(second, watch)
            assert (told["status"], told["event"]) == ("done", TRIGGER)
        assert await call_and_wait(first, "get-watch", watchId=watch) == told
        later = await start_watch(first, pane)
        await type_line(place, pane, "clear; echo the-ev''ent", shows="the-event")
        await wait_for_watch(first, later)
        assert (len(pushed(first)), len(pushed(second))) == (1, 1)


async def test_a_watch_outlives_the_end_of_its_client(place: Place) -> None:
    async with one_server(place) as first:
        pane = await open_pane(place, first, is_own=False)
        watch = await start_watch(first, pane)
        assert await first.close_stdin() == 0
    await print_event(place, pane)
    async with one_server(place) as second:
        told = await wait_for_watch(second, watch)
    assert (told["status"], told["event"]) == ("done", TRIGGER)


async def test_what_a_pane_printed_before_it_was_gone_counts(place: Place) -> None:
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=True)
        watch = await start_watch(first, pane)
    await print_event(place, pane)
    place.tmux("kill-pane", "-t", pane)
    await wait_until_pane_has_ended(place, pane)
    async with one_server(place) as second:
        told = await wait_for_watch(second, watch)
    assert (told["status"], told["event"]) == ("done", TRIGGER)
    assert "cursor" not in told


async def test_the_end_of_a_pane_ends_a_watch_with_its_exit_code(place: Place) -> None:
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=True)
        watch = await start_watch(first, pane)
    place.tmux("send-keys", "-t", pane, "exit 7", "Enter")
    await wait_until_pane_has_ended(place, pane)
    async with one_server(place) as second:
        told = await wait_for_watch(second, watch)
    assert (told["status"], told["event"]) == ("done", "exit")
    assert "code 7" in told["detail"]
    assert told["paneState"]["isAlive"] is False


async def test_another_program_in_the_pane_ends_a_watch_of_the_one_before(place: Place) -> None:
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=True)
        watch = await start_watch(first, pane)
    place.tmux("pipe-pane", "-t", pane)  # tmux ends our pipe
    place.tmux("respawn-pane", "-k", "-t", pane, "exec cat")
    async with one_server(place) as second:
        await call_and_wait(second, "send-keys", paneId=pane, keys="the-event", enter=True)
        told = await wait_for_watch(second, watch)
    assert (told["status"], told["event"]) == ("done", "exit")


async def wait_for_deadline(began: float, timeout_s: float) -> None:
    async def has_passed() -> bool:
        return time.monotonic() > began + timeout_s

    await eventually(has_passed)


async def test_what_was_printed_in_time_counts_before_the_timeout(place: Place) -> None:
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=True)
        seen = await first.call("notify-when", paneId=pane, triggers=TRIGGER, timeout=3)
        missed = await first.call("notify-when", paneId=pane, triggers="pattern:^never$", timeout=3)
        began = time.monotonic()
    await print_event(place, pane)
    await wait_for_deadline(began, 3)
    async with one_server(place) as second:
        told = await call_and_wait(second, "get-watch", watchId=seen["watchId"])
        assert (told["status"], told["event"]) == ("done", TRIGGER)
        told = await wait_for_watch(second, missed["watchId"])
    assert (told["event"], told["detail"]) == ("timeout", "Timed out after 3s")
    assert told["elapsed"] >= 3
    assert "the-event" in told["output"]


async def start_program_and_watch(place: Place, wire: Wire, pane: str) -> str:
    """Run a program that waits for a line and exits with 3. Return the id of a watch for its end."""
    await type_line(place, pane, 'sh -c \'echo be"g"un; read line; echo o"v"er; exit 3\'', shows="begun")
    watch: str = (await wire.call("notify-when", paneId=pane, triggers="exit", timeout=600))["watchId"]
    return watch


@pytest.mark.parametrize("is_own", [True, False], ids=["own", "plain"])
async def test_the_end_of_a_command_in_the_gap_is_told(place: Place, is_own: bool) -> None:
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=is_own)
        watch = await start_program_and_watch(place, first, pane)
    await type_line(place, pane, "", shows="over")
    async with one_server(place) as second:
        told = await wait_for_watch(second, watch)
    assert (told["status"], told["event"]) == ("done", "exit")


async def test_the_end_of_a_command_in_the_gap_is_told_with_its_exit_code(place: Place) -> None:
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=True)
        watch = await start_program_and_watch(place, first, pane)
    await type_line(place, pane, "", shows="over")
    async with one_server(place) as second:
        told = await wait_for_watch(second, watch)
    assert "code 3" in told["detail"]


async def test_a_watch_goes_on_after_its_journal_was_ended_by_a_person(place: Place) -> None:
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=True)
        watch = await start_watch(first, pane)
    place.tmux("pipe-pane", "-t", pane)
    async with one_server(place) as second:
        waiting = await call_and_wait(second, "get-watch", watchId=watch)
        assert waiting["status"] == "watching", waiting
        await print_event(place, pane)
        told = await wait_for_watch(second, watch)
    assert (told["status"], told["event"]) == ("done", TRIGGER)
    assert "not seen" in told["output"]


async def test_a_watch_goes_on_where_output_is_not_kept_and_tells_the_gap(place: Place) -> None:
    pane = create_plain_pane(place)
    place.tmux("pipe-pane", "-t", pane, "cat >/dev/null")  # a person's own pipe: tmux allows only one
    async with killed_server(place) as first:
        watch = await start_watch(first, pane)
    await print_event(place, pane)
    async with one_server(place) as second:
        waiting = await call_and_wait(second, "get-watch", watchId=watch)
        assert waiting["status"] == "watching", waiting
        await type_line(place, pane, "clear; echo the-ev''ent", shows="the-event")
        told = await wait_for_watch(second, watch)
    assert (told["status"], told["event"]) == ("done", TRIGGER)
    assert "not seen: the muxpilot that watched has ended" in told["output"]


async def test_the_end_of_an_http_muxpilot_leaves_its_watches_to_others(place: Place) -> None:
    async with serving_http(place) as (web, process):
        session = await web.open()
        pane = create_plain_pane(place)
        watch = (await web.call(session, "notify-when", paneId=pane, triggers=TRIGGER))["watchId"]
        process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.wait(), LIMIT_S)
    await print_event(place, pane)
    async with one_server(place) as second:
        told = await wait_for_watch(second, watch)
    assert (told["status"], told["event"]) == ("done", TRIGGER)


async def test_the_command_line_begins_and_tells_a_watch(place: Place) -> None:
    pane = create_plain_pane(place)
    started = await call_once(place, "notify-when", paneId=pane, triggers=TRIGGER)
    arguments = {"watchId": started["watchId"]}
    assert (await call_once(place, "get-watch", **arguments))["status"] == "watching"
    await print_event(place, pane)
    told = await call_once(place, "get-watch", **arguments)
    assert (told["status"], told["event"]) == ("done", TRIGGER)
    assert await call_once(place, "get-watch", **arguments) == told
    assert (await call_once(place, "cancel-watch", **arguments))["cancelled"] is False


async def call_once(place: Place, tool: str, **arguments: object) -> Any:
    """Run `muxpilot call`, a process for a single call."""
    words = ("call", "--scope", "all", "--socket", place.socket, tool, json.dumps(arguments))
    process = await asyncio.create_subprocess_exec(
        *command(*words), env=environment(place.home), stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await asyncio.wait_for(process.communicate(), LIMIT_S)
    assert process.returncode == 0, printed
    return json.loads(printed)


async def test_a_muxpilot_continues_and_tells_only_what_its_policy_allows(place: Place) -> None:
    config = place.home / "narrow.toml"
    config.write_text('[security]\nallowed_sessions = ["keeper"]\n')
    narrow_args = ("--scope", "all", "--channel", "--config", str(config))
    async with one_server(place, *narrow_args) as narrow:
        await narrow.call("list-panes")
        async with killed_server(place) as first:
            pane = await open_pane(place, first, is_own=True)
            watch = await start_watch(first, pane)
        await print_event(place, pane)
        assert (await call_and_wait(narrow, "get-watch", watchId=watch))["status"] == "refused"
        assert (await call_and_wait(narrow, "cancel-watch", watchId=watch))["status"] == "refused"
        async with one_server(place) as free:
            told = await wait_for_watch(free, watch)
            assert told["event"] == TRIGGER
        assert (await call_and_wait(narrow, "get-watch", watchId=watch))["status"] == "refused"
        assert pushed(narrow) == []
