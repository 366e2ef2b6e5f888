"""Recordings that one muxpilot began and another one continues, closes or stops."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from muxpilot.record.cast import CastEvent
from tests.durability.test_cursors_and_watches import open_pane, read_whole, type_line
from tests.rigs.muxpilots import call_and_wait, killed_server, one_server
from tests.rigs.shell_panes import create_plain_pane
from tests.rigs.waiting import eventually
from tests.rigs.wire import Place, Wire

WORDS = ("alpha", "beta", "gamma")


async def print_word(place: Place, pane: str, word: str) -> None:
    """Let the pane print a word which the line that is typed does not have."""
    await type_line(place, pane, f"echo {word[:2]}''{word[2:]}", shows=word)


async def record(place: Place, wire: Wire, pane: str) -> Path:
    path = place.home / "one.cast"
    await wire.call("record-pane", paneId=pane, action="start", path=str(path))
    return path


async def wait_until_recorded(path: Path, word: str) -> None:
    async def is_recorded() -> bool:
        return word in path.read_text()

    await eventually(is_recorded)


async def stop(wire: Wire, pane: str) -> dict[str, Any]:
    return await call_and_wait(wire, "record-pane", paneId=pane, action="stop")


def words_in(events: list[CastEvent]) -> list[str]:
    """Return our words in the order in which a recording has them."""
    text = "".join(event.text for event in events if event.kind == "o")
    return [word for _, word in sorted((at, word) for word in WORDS for at in find_all(text, word))]


def find_all(text: str, word: str) -> list[int]:
    return [at for at in range(len(text)) if text.startswith(word, at)]


def markers(events: list[CastEvent]) -> list[str]:
    return [event.text for event in events if event.kind == "m"]


async def test_a_recording_goes_on_by_itself_in_a_muxpilot_that_lives(place: Place) -> None:
    async with one_server(place) as second:
        await second.call("list-panes")
        async with killed_server(place) as first:
            pane = await open_pane(place, first, is_own=True)
            path = await record(place, first, pane)
            await print_word(place, pane, "alpha")
        await print_word(place, pane, "beta")
        await wait_until_recorded(path, "beta")
        await print_word(place, pane, "gamma")
        told = await stop(second, pane)
    events = read_whole(path)
    assert words_in(events) == list(WORDS)
    assert markers(events) == ["another muxpilot continues the recording"]
    assert (told["recording"], told["path"], told["bytes"]) == (False, str(path), path.stat().st_size)
    assert "went on" in told["note"]
    assert told["seconds"] >= events[-1].seconds
    assert [event.seconds for event in events] == sorted(event.seconds for event in events)


async def test_a_torn_line_and_what_came_after_the_last_known_place_are_cut(place: Place) -> None:
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=True)
        path = await record(place, first, pane)
        await print_word(place, pane, "alpha")
        await wait_until_recorded(path, "alpha")
    with path.open("a") as file:
        file.write('[5.0,"o","alp')
    await print_word(place, pane, "beta")
    async with one_server(place) as second:
        assert "went on" in (await stop(second, pane))["note"]
    assert words_in(read_whole(path)) == ["alpha", "beta"]


async def test_a_recording_outlives_the_end_of_its_client_without_loss_of_times(place: Place) -> None:
    async with one_server(place) as first:
        pane = await open_pane(place, first, is_own=False)
        path = await record(place, first, pane)
        await print_word(place, pane, "alpha")
        await wait_until_recorded(path, "alpha")
        assert await first.close_stdin() == 0
    before = read_whole(path)
    await print_word(place, pane, "beta")
    async with one_server(place) as second:
        await stop(second, pane)
    events = read_whole(path)
    assert events[: len(before)] == before
    assert words_in(events) == ["alpha", "beta"]


async def test_the_last_output_of_a_pane_that_is_gone_is_recorded(place: Place) -> None:
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=True)
        path = await record(place, first, pane)
    await print_word(place, pane, "alpha")
    place.tmux("kill-pane", "-t", pane)
    async with one_server(place) as second:
        await second.call("list-panes")
        await wait_until_recorded(path, "alpha")
    assert words_in(read_whole(path)) == ["alpha"]


async def test_a_recording_is_closed_where_the_output_is_not_kept(place: Place) -> None:
    pane = create_plain_pane(place)
    place.tmux("pipe-pane", "-t", pane, "cat >/dev/null")  # a person's own pipe: tmux allows only one
    async with killed_server(place) as first:
        path = await record(place, first, pane)
        await print_word(place, pane, "alpha")
        await wait_until_recorded(path, "alpha")
    await print_word(place, pane, "beta")
    async with one_server(place) as second:
        told = await stop(second, pane)
        assert "not being recorded" in (await stop(second, pane))["reason"]
    events = read_whole(path)
    assert "was closed" in told["note"]
    assert told["bytes"] == path.stat().st_size
    [marker] = markers(events)
    assert marker.startswith("the recording was closed: ")


async def test_another_muxpilot_stops_a_recording_of_one_that_lives(place: Place) -> None:
    async with one_server(place) as first, one_server(place) as second:
        pane = await open_pane(place, first, is_own=True)
        path = await record(place, first, pane)
        await print_word(place, pane, "alpha")
        again = await call_and_wait(second, "record-pane", paneId=pane, action="start")
        assert "already being recorded" in again["reason"]
        told = await stop(second, pane)
        assert (told["recording"], told["path"], told["bytes"]) == (False, str(path), path.stat().st_size)
        assert "note" not in told
        assert "not being recorded" in (await stop(first, pane))["reason"]
        other = await call_and_wait(second, "record-pane", paneId=pane, action="start")
        assert other["recording"] is True
        assert "note" not in await stop(first, pane)
    assert words_in(read_whole(path)) == ["alpha"]


async def test_a_recording_of_a_stopped_muxpilot_is_left_to_it(place: Place) -> None:
    async with one_server(place) as first, one_server(place) as second:
        pane = await open_pane(place, first, is_own=True)
        path = await record(place, first, pane)
        os.kill(first.pid, signal.SIGSTOP)
        try:
            await print_word(place, pane, "alpha")
            refused = await stop(second, pane)
            assert str(path) in refused["reason"]
        finally:
            os.kill(first.pid, signal.SIGCONT)
        told = await stop(second, pane)
    assert (told["recording"], told["bytes"]) == (False, path.stat().st_size)
    assert words_in(read_whole(path)) == ["alpha"]


async def test_nothing_of_a_flood_is_missing_or_twice_after_a_kill_in_its_middle(place: Place) -> None:
    async with killed_server(place) as first:
        pane = await open_pane(place, first, is_own=True)
        path = await record(place, first, pane)
        place.tmux("send-keys", "-t", pane, "echo; seq 200000; echo al''pha", "Enter")

        async def is_in_the_middle() -> bool:
            return path.stat().st_size > 100_000

        await eventually(is_in_the_middle)
    async with killed_server(place) as second:
        await second.call("list-panes")
        await wait_until_recorded(path, "another muxpilot")
    async with one_server(place) as third:
        await third.call("list-panes")
        await wait_until_recorded(path, "alpha")
        await stop(third, pane)
    events = read_whole(path)
    text = "".join(event.text for event in events if event.kind == "o")
    numbers = [int(line) for line in text.split("\r\n") if line.isdigit()]
    assert numbers == list(range(1, 200_001))
    assert all("continues" in marker for marker in markers(events))
