"""Streams: every byte at its offset, or a gap that says so."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import random
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from muxpilot import Tmux
from muxpilot.errors import NoStream
from muxpilot.tmux import Gap, PaneId, PaneProgram, PaneStream
from muxpilot.tmux.streams import ExitStatus
from tests.rigs.engine import Raw, stream_of
from tests.rigs.waiting import eventually
from tests.tmux.streams.conftest import (
    RAW_TERMINAL,
    follow_pane,
    offsets_are_exact,
    read_in_background,
    type_until_echoed,
)

pytestmark = pytest.mark.both_tmux

Harm = Callable[[Raw, str], object]


@pytest.mark.timeout(180)
async def test_twenty_megabytes_of_a_pane_of_ours_arrive_byte_for_byte(tmux: Tmux, tmp_path: Path) -> None:
    text = base64.encodebytes(random.Random(5).randbytes(15 << 20))
    (tmp_path / "text").write_bytes(text)
    made = await tmux.sessions.create("ours", program=PaneProgram(f"{RAW_TERMINAL}; cat {tmp_path}/text"))
    async with (
        read_in_background(stream_of(tmux, made.pane_id)) as one,
        read_in_background(stream_of(tmux, made.pane_id)) as two,
    ):
        assert (await one.wait_for_end(limit_s=120)).status == 0
        await two.wait_for_end()
    assert hashlib.sha256(one.data).digest() == hashlib.sha256(text).digest()
    assert two.data == one.data
    assert offsets_are_exact(one.events)


async def test_a_persons_pane_arrives_byte_for_byte(tmux: Tmux, raw: Raw, tmp_path: Path) -> None:
    everything = bytes(range(256)) * 40 + "é世👍".encode() * 500
    (tmp_path / "text").write_bytes(everything)
    go = tmp_path / "go"
    os.mkfifo(go)
    script = f"{RAW_TERMINAL}; read x <{go}; cat {tmp_path}/text; exec sleep 60"
    pane = raw("new-session", "-d", "-P", "-F", "#{pane_id}", script)
    async with follow_pane(tmux, pane) as follower:
        await asyncio.to_thread(go.write_text, "go\n")
        await follower.wait_until(lambda seen: len(seen.data) >= len(everything))
    assert follower.data == everything
    assert offsets_are_exact(follower.events)


async def test_characters_that_are_split_between_two_writes_come_whole(tmux: Tmux, theirs: str) -> None:
    async with follow_pane(tmux, theirs) as follower:
        for byte in "é世👍".encode():
            await tmux.input.send_bytes(PaneId(theirs), bytes([byte]))
        await follower.wait_for_bytes("é世👍".encode())


async def test_nothing_is_missed_once_a_pane_is_followed(tmux: Tmux, theirs: str) -> None:
    for turn in range(10):
        async with follow_pane(tmux, theirs) as follower:
            await tmux.input.type(PaneId(theirs), f"<{turn}>")
            await follower.wait_for_bytes(f"<{turn}>".encode())


async def test_a_slow_follower_is_told_exactly_what_it_missed_and_memory_stays_bounded() -> None:
    stream = PaneStream(PaneId("%1"))
    slow = stream.follow(0)
    stream.feed(b"begin")
    first = await anext(slow)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    block = bytes(1 << 16)
    for _ in range(800):
        stream.feed(block)
    stream.finish(ExitStatus(0), "done")
    rest = [first, *[event async for event in slow]]
    [gap] = [event for event in rest if isinstance(event, Gap)]
    assert gap.lost_bytes == stream.start - len(b"begin")
    assert offsets_are_exact(rest)
    assert stream.end == len(b"begin") + 800 * len(block)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 << 10


async def test_a_window_linked_elsewhere_is_no_gap(tmux: Tmux, raw: Raw, theirs: str) -> None:
    async with follow_pane(tmux, theirs) as follower:
        raw("new-session", "-d", "-s", "elsewhere", "exec sleep 60")
        raw("link-window", "-d", "-s", theirs, "-t", "elsewhere:")
        raw("split-window", "-d", "-t", theirs, "exec sleep 60")
        await type_until_echoed(raw, follower, theirs, "after")
    assert follower.gaps == []


async def test_a_pipe_that_somebody_replaced_is_a_gap_and_left_to_them(
    tmux: Tmux, raw: Raw, tmp_path: Path
) -> None:
    made = await tmux.sessions.create("ours", program=PaneProgram(f"{RAW_TERMINAL}; exec cat"))
    async with read_in_background(stream_of(tmux, made.pane_id)) as follower:
        await type_until_echoed(raw, follower, made.pane_id, "before")
        raw("pipe-pane", "-t", made.pane_id, f"cat >{tmp_path}/theirs")
        await follower.wait_until(lambda seen: seen.gaps)
        await type_until_echoed(raw, follower, made.pane_id, "after")
    assert "pipe" in follower.gaps[0].reason
    await eventually(lambda: has_text(tmp_path / "theirs", "after"))


async def create_piped_pane(tmux: Tmux, raw: Raw, log: Path) -> PaneStream:
    raw("set-hook", "-g", "after-new-window", f"pipe-pane 'cat >{log}'")
    [mine] = await tmux.sessions.list()
    made = await tmux.windows.create(mine.id, program=PaneProgram("echo hello; exec sleep 60"))
    return stream_of(tmux, made.pane_id)


async def has_text(path: Path, text: str) -> bool:
    return path.exists() and text in path.read_text()


async def test_a_pipe_that_a_person_has_at_birth_is_left_to_them(
    tmux: Tmux, raw: Raw, theirs: str, tmp_path: Path
) -> None:
    stream = await create_piped_pane(tmux, raw, tmp_path / "log")
    async with read_in_background(stream) as follower:
        await follower.wait_for_bytes(b"hello")
    await eventually(lambda: has_text(tmp_path / "log", "hello"))


async def test_a_pane_of_ours_that_can_be_had_in_no_way_is_made_all_the_same(
    tmux: Tmux, raw: Raw, unattached_ending_pane: str, tmp_path: Path
) -> None:
    stream = await create_piped_pane(tmux, raw, tmp_path / "log")
    assert stream.end_event is not None
    assert "cannot be followed" in stream.end_event.reason
    await eventually(lambda: has_text(tmp_path / "log", "hello"))


async def test_a_pane_that_can_be_had_in_no_way_is_refused(
    tmux: Tmux, raw: Raw, unattached_ending_pane: str
) -> None:
    raw("pipe-pane", "-t", unattached_ending_pane, "cat >/dev/null")
    with pytest.raises(NoStream, match="destroy-unattached"):
        async with tmux.streams.open(PaneId(unattached_ending_pane)):
            pass
    assert raw("list-panes", "-t", unattached_ending_pane, "-F", "#{pane_pipe}") == "1"
