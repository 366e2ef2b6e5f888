"""Recordings of real panes: failures of the file, and a stop before the start."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import BadInput, Refused
from muxpilot.files.any_path import AnyFolder
from muxpilot.record.recordings import Recordings
from muxpilot.tmux import PaneId
from tests.rigs.waiting import eventually


@pytest.fixture
def binary() -> str:
    """Use one tmux version: differences between versions are tested with the streams."""
    return shutil.which("tmux") or "tmux"


@pytest.fixture
async def recordings() -> AsyncIterator[Recordings]:
    recordings = Recordings()
    yield recordings
    await recordings.close()


async def start_echo_pane(tmux: Tmux) -> PaneId:
    made = await tmux.sessions.create("recorded", program=PaneProgram("stty -echo; exec cat"))
    return made.pane_id


async def test_a_file_that_takes_no_more_is_told_when_the_recording_is_stopped(
    tmux: Tmux, recordings: Recordings, tmp_path: Path
) -> None:
    """Use a pipe as the file: closing its reading end fails writes as a full disk does."""
    pane = await start_echo_pane(tmux)
    disk, target = os.pipe()
    await recordings.start(tmux, pane, tmp_path / "a.cast", lambda _: target)
    os.close(disk)
    await tmux.input.type(pane, "more", enter=True)

    async def is_heard() -> bool:
        stream = tmux.streams.find_stream(pane)
        return stream is not None and b"more" in stream.read(0, stream.end)

    await eventually(is_heard)
    with pytest.raises(Refused, match=r"a\.cast' cannot be written: Broken pipe"):
        await recordings.stop(tmux, pane)
    with pytest.raises(BadInput, match="is not being recorded"):
        await recordings.stop(tmux, pane)


async def test_a_file_that_takes_nothing_is_told_at_the_start(
    tmux: Tmux, recordings: Recordings, tmp_path: Path
) -> None:
    pane = await start_echo_pane(tmux)
    with pytest.raises(Refused, match="No space left on device"):
        await recordings.start(tmux, pane, tmp_path / "a.cast", lambda _: os.open("/dev/full", os.O_WRONLY))
    await recordings.start(tmux, pane, tmp_path / "a.cast", AnyFolder().create)


async def test_stopping_what_has_not_begun_yet_is_told_to_both_who_asked(
    tmux: Tmux, recordings: Recordings, tmp_path: Path
) -> None:
    pane = await start_echo_pane(tmux)
    start = asyncio.create_task(recordings.start(tmux, pane, tmp_path / "a.cast", AnyFolder().create))
    await asyncio.sleep(0)
    with pytest.raises(BadInput, match="has not started yet"):
        await recordings.stop(tmux, pane)
    with pytest.raises(BadInput, match="has not started yet"):
        await start
    await recordings.start(tmux, pane, tmp_path / "a.cast", AnyFolder().create)
