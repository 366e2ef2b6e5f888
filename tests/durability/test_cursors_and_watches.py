"""Cursors, watches and recordings after the end of the muxpilot that made them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from muxpilot.record.cast import read_events
from tests.rigs.muxpilots import call_and_wait, killed_server, one_server, write_config
from tests.rigs.shell_panes import create_pane, create_plain_pane
from tests.rigs.waiting import eventually
from tests.rigs.wire import Place, Wire

TRIGGER = "pattern:^the-event$"
LINES = 100_000  # of 60 digits: three times the smallest cap below


async def type_line(place: Place, pane: str, line: str, *, shows: str) -> None:
    """Type a line as a person does, and wait until the pane shows a text."""
    place.tmux("send-keys", "-t", pane, line, "Enter")

    async def is_shown() -> bool:
        return shows in place.tmux("capture-pane", "-p", "-t", pane)

    await eventually(is_shown, limit_s=40)


async def open_pane(place: Place, wire: Wire, *, is_own: bool) -> str:
    """Return a pane whose shell is at its prompt."""
    pane = await create_pane(place, wire) if is_own else create_plain_pane(place)
    await wire.call("execute-command", paneId=pane, command="echo before-cursor")
    return pane


@pytest.mark.parametrize("is_own", [True, False], ids=["own", "plain"])
async def test_a_cursor_is_good_in_the_next_muxpilot(place: Place, is_own: bool) -> None:
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=is_own)
        cursor = (await first.call("read-pane", paneId=pane))["cursor"]
        await type_line(place, pane, "echo still-al''ive", shows="still-alive")
    await type_line(place, pane, "seq 300; echo in-the-g''ap", shows="in-the-gap")
    async with one_server(place) as second:
        await type_line(place, pane, "echo la''ter", shows="later")
        read = await read_until(second, pane, cursor, "later")
    lines = read["text"].split("\n")
    wanted = ["still-alive", *map(str, range(1, 301)), "in-the-gap", "later"]
    assert [line for line in lines if line in wanted] == wanted
    assert "before-cursor" not in read["text"]
    assert (read["missedLines"], read["truncated"]) == (0, False)


async def read_until(wire: Wire, pane: str, cursor: str, last: str) -> dict[str, Any]:
    """Read from a cursor until the text has a last line: tmux shows it a little before it is kept."""

    async def has_last() -> dict[str, Any]:
        read: dict[str, Any] = await wire.call("read-pane", paneId=pane, since=cursor, maxLines=LINES)
        return read if f"\n{last}\n" in f"\n{read['text']}\n" else {}

    found = await eventually(has_last)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("is_own", [True, False], ids=["own", "plain"])
async def test_lines_beyond_the_cap_are_counted_exactly(place: Place, is_own: bool) -> None:
    args = write_config(place, journal_cap_bytes=2 << 20)
    async with killed_server(place, *args) as first:
        pane = await open_pane(place, first, is_own=is_own)
        await type_line(place, pane, "PS1=; clear; echo re''ady", shows="ready")
        cursor = (await first.call("read-pane", paneId=pane))["cursor"]
    await type_line(place, pane, f"seq -f %060.0f {LINES}; echo OV''ER", shows="OVER")
    async with one_server(place, *args) as second:
        read = await read_until(second, pane, cursor, "OVER")
    numbers = [int(line) for line in read["text"].split("\n") if line.isdigit()]
    assert numbers == list(range(LINES - len(numbers) + 1, LINES + 1))
    # Besides the numbers: the line of the command, and OVER. There is no prompt.
    assert read["missedLines"] + read["newLines"] == LINES + 2
    assert read["missedLines"] > LINES // 2


async def test_a_watch_since_a_cursor_sees_what_was_printed_in_the_gap(place: Place) -> None:
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=True)
        cursor = (await first.call("read-pane", paneId=pane))["cursor"]
    await type_line(place, pane, "echo the-ev''ent", shows="the-event")
    async with one_server(place) as second:
        arguments = {"paneId": pane, "triggers": TRIGGER, "since": cursor, "timeout": 20}
        told = await call_and_wait(second, "watch-pane", **arguments)
    assert told.get("event") == TRIGGER, told


async def start_watch(wire: Wire, pane: str) -> str:
    watch: str = (await wire.call("notify-when", paneId=pane, triggers=TRIGGER, timeout=600))["watchId"]
    return watch


async def wait_for_watch(wire: Wire, watch: str) -> dict[str, Any]:
    async def ended() -> dict[str, Any]:
        told = await call_and_wait(wire, "get-watch", watchId=watch)
        assert told["status"] != "refused", told
        return told if told["status"] != "watching" else {}

    found = await eventually(ended)
    assert isinstance(found, dict)
    return found


async def test_a_watch_is_taken_over_by_a_muxpilot_that_runs_already(place: Place) -> None:
    async with one_server(place) as second:
        async with killed_server(place) as first:
            pane = await open_pane(place, first, is_own=True)
            watch = await start_watch(first, pane)
        waiting = await call_and_wait(second, "get-watch", watchId=watch)
        assert waiting["status"] == "watching", waiting
        await type_line(place, pane, "echo the-ev''ent", shows="the-event")
        told = await wait_for_watch(second, watch)
    assert (told["status"], told["event"], told["paneId"]) == ("done", TRIGGER, pane)
    assert "the-event" in told["detail"] + told["output"]


async def test_a_later_muxpilot_tells_what_a_watch_waited_for_in_the_gap(place: Place) -> None:
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=True)
        watch = await start_watch(first, pane)
    await type_line(place, pane, "echo the-ev''ent; clear; echo qui''et", shows="quiet")
    async with one_server(place) as second:
        told = await wait_for_watch(second, watch)
    assert (told["status"], told["event"], told["paneId"]) == ("done", TRIGGER, pane)


async def test_a_watch_goes_on_in_the_next_muxpilot(place: Place) -> None:
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=True)
        watch = await start_watch(first, pane)
    async with killed_server(place) as second:
        waiting = await call_and_wait(second, "get-watch", watchId=watch)
        assert waiting["status"] == "watching", waiting
        await type_line(place, pane, "echo the-ev''ent", shows="the-event")
        told = await wait_for_watch(second, watch)
        assert told["event"] == TRIGGER
    async with one_server(place) as third:
        assert await call_and_wait(third, "get-watch", watchId=watch) == told


@pytest.mark.parametrize("is_alive", [True, False], ids=["owner alive", "owner killed"])
async def test_an_ended_watch_is_told_by_another_muxpilot(place: Place, is_alive: bool) -> None:
    async with one_server(place) as first, one_server(place) as second:
        pane = await open_pane(place, first, is_own=True)
        watch = await start_watch(first, pane)
        await type_line(place, pane, "echo the-ev''ent", shows="the-event")
        told = await wait_for_watch(first, watch)
        if not is_alive:
            await first.kill()
        assert await call_and_wait(second, "get-watch", watchId=watch) == told


async def test_a_recording_goes_on_in_the_next_muxpilot_and_says_so(place: Place) -> None:
    path = place.home / "one.cast"
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=True)
        await first.call("record-pane", paneId=pane, action="start", path=str(path))
        await type_line(place, pane, "echo recor''ded", shows="recorded")
    await type_line(place, pane, "echo in-the-g''ap", shows="in-the-gap")
    async with one_server(place) as second:
        told = await call_and_wait(second, "record-pane", paneId=pane, action="stop")
    text = "".join(event.text for event in read_whole(path))
    assert text.index("recorded") < text.index("in-the-gap")
    assert (told["recording"], told["path"], told["bytes"]) == (False, str(path), path.stat().st_size)
    assert "went on" in told["note"]


def read_whole(path: Path) -> list[Any]:
    """Return the events of a recording. Every line of it must be JSON, and the last one must have its end."""
    text = path.read_text()
    assert text.endswith("\n")
    assert [json.loads(line) for line in text.splitlines()]
    return list(read_events(path))
