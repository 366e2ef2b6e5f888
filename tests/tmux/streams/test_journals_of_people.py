"""The journals of panes that a person has made, and the pipes that are there already."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from muxpilot import Tmux
from muxpilot.tmux import PaneId
from tests.rigs.engine import Raw, wait_until
from tests.rigs.waiting import LIMIT_S, eventually
from tests.tmux.streams.conftest import (
    RAW_TERMINAL,
    follow_pane,
    muxpilot,
    type_until_echoed,
    wait_until_raw,
)

pytestmark = [pytest.mark.both_tmux, pytest.mark.usefixtures("runtime")]


async def test_muxpilots_that_open_a_persons_pane_at_once_start_one_pipe(
    socket: str, binary: str, raw: Raw, theirs: str
) -> None:
    async with muxpilot(socket, binary) as one, muxpilot(socket, binary) as two:
        async with one.streams.open(PaneId(theirs)), two.streams.open(PaneId(theirs)):
            pass
        other = raw("split-window", "-t", theirs, "-d", "-P", "-F", "#{pane_id}", f"{RAW_TERMINAL}; exec cat")
        names = await asyncio.gather(*(name_when_opened(tmux, other) for tmux in (one, two)))
    assert names[0] == names[1]


async def name_when_opened(tmux: Tmux, pane: str) -> str:
    async with tmux.streams.open(PaneId(pane)) as stream:
        return stream.name


async def test_a_persons_pane_keeps_its_journal_between_followers(tmux: Tmux, raw: Raw, theirs: str) -> None:
    async with follow_pane(tmux, theirs) as follower:
        await wait_until_raw(raw, theirs)
        await tmux.input.type(PaneId(theirs), "<one>")
        await follower.wait_for_bytes(b"<one>")
    raw("send-keys", "-t", theirs, "-l", "<two>")
    async with follow_pane(tmux, theirs) as follower:
        await follower.wait_for_bytes(b"<two>")
    assert follower.data == b"<one><two>"
    assert raw("list-panes", "-t", theirs, "-F", "#{pane_pipe}") == "1"
    assert not tmux.streams.is_own_pane(PaneId(theirs))


async def test_a_persons_own_pipe_is_left_to_them(tmux: Tmux, raw: Raw, theirs: str, tmp_path: Path) -> None:
    raw("pipe-pane", "-t", theirs, f"cat >{tmp_path}/log")
    async with follow_pane(tmux, theirs) as follower:
        await type_until_echoed(raw, follower, theirs, "seen")
    assert raw("display-message", "-p", "-t", theirs, "#{@muxpilot_journal}") == ""
    await wait_until(lambda: "seen" in (tmp_path / "log").read_text())


async def test_a_name_that_a_person_wrote_into_the_option_is_not_believed(
    tmux: Tmux, raw: Raw, theirs: str
) -> None:
    raw("pipe-pane", "-t", theirs, "cat >/dev/null")
    for name in ("../../../etc", "0001-abcdef", "x" * 300):
        raw("set-option", "-p", "-t", theirs, "@muxpilot_journal", name)
        async with follow_pane(tmux, theirs) as follower:
            await type_until_echoed(raw, follower, theirs, "seen")


async def test_catching_up_waits_for_what_tmux_shows(tmux: Tmux, raw: Raw, theirs: str) -> None:
    async with tmux.streams.open(PaneId(theirs)) as stream:
        for number in range(20):
            text = f"<{number}>"
            raw("send-keys", "-t", theirs, "-l", text)

            async def is_shown(text: str = text) -> bool:
                return text in raw("capture-pane", "-p", "-t", theirs)

            await eventually(is_shown, limit_s=LIMIT_S)
            await tmux.streams.catch_up(PaneId(theirs))
            assert stream.read(stream.start, stream.end).endswith(text.encode())
