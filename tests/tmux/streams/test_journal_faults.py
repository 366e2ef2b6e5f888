"""Journals on a full disk, with files that are damaged or gone, and without what they need."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from muxpilot import Tmux
from muxpilot.journal.journals import Journals
from muxpilot.tmux import PaneId, PaneProgram
from tests.rigs.engine import Raw, read_to_end, stream_of
from tests.tmux.streams.conftest import (
    CAT,
    FLOOD,
    FLOODED,
    follow_pane,
    muxpilot,
    read_in_background,
    type_until_echoed,
    wait_until_raw,
)

pytestmark = [pytest.mark.both_tmux, pytest.mark.usefixtures("runtime")]


@pytest.fixture
def tiny_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Mount a file system of 200 kB for the journals."""
    disk = folder / "disk"
    disk.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", "size=200k,mode=700", "muxpilot-test", str(disk)]
    if shutil.which("mount") is None or subprocess.run(argv, check=False).returncode:
        pytest.skip("this user cannot mount a file system")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(disk))
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


async def test_a_full_disk_stops_no_pane_and_is_told(tiny_disk: Path, socket: str, binary: str) -> None:
    async with muxpilot(socket, binary) as tmux:
        made = await tmux.sessions.create("ours", program=PaneProgram("seq 1 100000; exit 3"))
        async with read_in_background(stream_of(tmux, made.pane_id)) as follower:
            assert (await follower.wait_for_end()).status == 3
    assert follower.gaps
    assert follower.data.endswith(b"\n100000\r\n")


async def test_a_journal_that_was_deleted_is_a_gap_and_the_stream_goes_on(
    tmux: Tmux, raw: Raw, theirs: str, runtime: Path
) -> None:
    async with follow_pane(tmux, theirs) as follower:
        await type_until_echoed(raw, follower, theirs, "before")
        shutil.rmtree(runtime / "muxpilot")
        await follower.wait_until(lambda seen: seen.gaps)
        await type_until_echoed(raw, follower, theirs, "after")


async def test_a_segment_that_was_cut_is_a_gap_and_the_stream_goes_on(
    tmux: Tmux, raw: Raw, theirs: str, runtime: Path
) -> None:
    async with follow_pane(tmux, theirs) as follower:
        await wait_until_raw(raw, theirs)
        await tmux.input.type(PaneId(theirs), "before")
        await follower.wait_for_bytes(b"before")
        [segment] = runtime.rglob("000000000000000-*")
        os.truncate(segment, 0)
        await type_until_echoed(raw, follower, theirs, "after")
        await follower.wait_until(lambda seen: seen.gaps)
    assert follower.data.count(b"before") == 1


async def test_foreign_files_in_the_folder_are_ignored(tmux: Tmux, raw: Raw, runtime: Path) -> None:
    made = await tmux.sessions.create("ours", program=CAT)
    async with read_in_background(stream_of(tmux, made.pane_id)) as follower:
        await type_until_echoed(raw, follower, made.pane_id, "before")
        [folder] = runtime.rglob("0001-??????")
        (folder / "note.txt").write_text("theirs")
        (folder / "000000000000999-000000000000-y").write_text("theirs")
        (folder / "000000000999999-000000000000").symlink_to("/etc/passwd")
        await type_until_echoed(raw, follower, made.pane_id, "after")
    assert b"theirs" not in follower.data
    assert b"root:" not in follower.data


async def test_output_is_kept_in_memory_where_no_private_folder_can_be_made(
    socket: str, binary: str, raw: Raw, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (runtime / "muxpilot").mkdir(0o777)
    (runtime / "muxpilot").chmod(0o777)
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/none")
    async with muxpilot(socket, binary, journals=Journals()) as tmux:
        made = await tmux.sessions.create("ours", program=CAT)
        async with read_in_background(stream_of(tmux, made.pane_id)) as follower:
            await type_until_echoed(raw, follower, made.pane_id, "seen")
    assert list((runtime / "muxpilot").iterdir()) == []


async def test_without_inotify_everything_still_arrives(
    tmux: Tmux, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "plan9")
    made = await tmux.sessions.create("ours", program=PaneProgram(FLOOD))
    seen, end = await read_to_end(stream_of(tmux, made.pane_id))
    assert (seen, end.status) == (FLOODED, 0)


@pytest.mark.parametrize("victim", ["shell", "dd"])
async def test_a_writer_that_was_killed_is_a_gap_and_the_stream_goes_on(
    tmux: Tmux, raw: Raw, theirs: str, victim: str
) -> None:
    async with follow_pane(tmux, theirs) as follower:
        await type_until_echoed(raw, follower, theirs, "before")
        [generation] = await tmux.streams.journals.list(PaneId(theirs))
        pid = generation.writer_pid
        assert pid is not None
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for one in [pid] if victim == "shell" else map(int, children):
            os.kill(one, signal.SIGKILL)
        await follower.wait_until(lambda seen: seen.gaps)
        await type_until_echoed(raw, follower, theirs, "after")
