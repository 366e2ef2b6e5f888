"""Journals: the same bytes at the same offsets in every muxpilot, also after the first has been killed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from muxpilot import Tmux
from muxpilot.journal.journals import JournalLimits, Journals
from muxpilot.tmux import PaneId, PaneProgram
from tests.rigs.engine import Raw, read_to_end, read_until, stream_of, wait_until
from tests.tmux.streams.conftest import (
    CAT,
    FLOOD,
    FLOODED,
    RAW_TERMINAL,
    follow_pane,
    muxpilot,
    read_in_background,
    type_until_echoed,
)

pytestmark = [pytest.mark.both_tmux, pytest.mark.usefixtures("runtime")]

# A muxpilot that creates a pane, prints its id, and waits to be killed.
CREATOR = """
import asyncio, sys
from muxpilot import PaneProgram, Tmux

async def main():
    socket, binary, command, remain = sys.argv[1:]
    async with Tmux(socket, binary=binary, config="/dev/null") as tmux:
        await tmux.sessions.create("home", program=PaneProgram("exec sleep 60"))
        program = PaneProgram(command, remain_on_exit=remain == "yes")
        made = await tmux.sessions.create("work", program=program)
        print(made.pane_id, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def kill_after_creating(socket: str, binary: str, command: str, *, remain: bool = False) -> PaneId:
    """Let another muxpilot create a pane, and kill that muxpilot. Return the pane's id."""
    argv = [sys.executable, "-c", CREATOR, socket, binary, command, "yes" if remain else "no"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as creator:
        try:
            assert creator.stdout is not None
            return PaneId(creator.stdout.readline().decode().strip())
        finally:
            creator.kill()


async def test_the_next_muxpilot_continues_where_the_last_was_killed(
    socket: str, binary: str, raw: Raw
) -> None:
    pane = kill_after_creating(socket, binary, f"{RAW_TERMINAL}; echo first; exec cat")
    async with muxpilot(socket, binary) as tmux, follow_pane(tmux, pane) as follower:
        await follower.wait_for_bytes(b"first")
        await type_until_echoed(raw, follower, pane, "<then>")
        assert tmux.streams.is_own_pane(pane)
        assert follower.data.startswith(b"first\n<then>")
        assert follower.gaps == []


@pytest.mark.parametrize("remain", [False, True])
async def test_the_output_and_status_of_a_command_survive_a_kill(
    socket: str, binary: str, raw: Raw, folder: Path, remain: bool
) -> None:
    go = folder / "go"
    os.mkfifo(go)
    pane = kill_after_creating(socket, binary, f"read x <{go}; {FLOOD}; exit 7", remain=remain)
    await asyncio.to_thread(go.write_text, "go\n")
    await wait_until(lambda: is_over(raw, pane, remain=remain))
    async with muxpilot(socket, binary) as tmux:
        if remain:
            async with tmux.streams.open(pane) as stream:
                seen, end = await read_to_end(stream)
        else:
            stream_of_gone = await tmux.streams.read_ended(pane)
            assert stream_of_gone is not None
            seen, end = await read_to_end(stream_of_gone)
    assert (seen, end.status) == (FLOODED, 7)


async def test_a_status_is_kept_though_muxpilot_leaves_at_once(socket: str, binary: str, raw: Raw) -> None:
    panes = []
    async with muxpilot(socket, binary) as tmux:
        await tmux.sessions.create("home", program=PaneProgram("exec sleep 60"))
        for status in range(5):
            program = PaneProgram(f"echo hello; exit {status}")
            panes.append((await tmux.sessions.create(f"work{status}", program=program)).pane_id)
    await wait_until(lambda: all(is_over(raw, pane, remain=False) for pane in panes))
    async with muxpilot(socket, binary) as tmux:
        streams = [await tmux.streams.read_ended(pane) for pane in panes]
    ends = [stream.end_event for stream in streams if stream is not None]
    assert [end.status for end in ends if end is not None] == list(range(5))


def is_over(raw: Raw, pane: str, *, remain: bool) -> bool:
    rows = raw("list-panes", "-a", "-F", "#{pane_id} #{pane_dead}").split("\n")
    return f"{pane} 1" in rows if remain else not any(row.startswith(f"{pane} ") for row in rows)


async def test_a_folder_with_every_special_character_is_used(
    tmux: Tmux, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = folder / "a b'c\"#{x}#(touch y)%d$HOME;é\\n"
    odd.mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(odd))
    made = await tmux.sessions.create("ours", program=PaneProgram("echo hello; exit 3"))
    seen, end = await read_to_end(stream_of(tmux, made.pane_id))
    assert (seen, end.status) == (b"hello\r\n", 3)
    assert list(odd.rglob("000000000000000-*"))


async def test_two_muxpilots_see_one_stream(socket: str, binary: str, raw: Raw) -> None:
    async with muxpilot(socket, binary) as one, muxpilot(socket, binary) as two:
        made = await one.sessions.create("ours", program=CAT)
        async with read_in_background(stream_of(one, made.pane_id)) as first:
            await type_until_echoed(raw, first, made.pane_id, "<one>")
            async with follow_pane(two, made.pane_id) as second:
                raw("send-keys", "-t", made.pane_id, "-l", "<two>")
                await second.wait_for_bytes(b"<two>")
                await first.wait_for_bytes(b"<two>")
        assert first.data == second.data
        assert stream_of(one, made.pane_id).name == raw(
            "display-message", "-p", "-t", made.pane_id, "#{@muxpilot_journal}"
        )


async def test_older_bytes_than_memory_holds_are_read_from_the_files(tmux: Tmux) -> None:
    made = await tmux.sessions.create("ours", program=PaneProgram("seq 1 700000; exec sleep 60"))
    stream = stream_of(tmux, made.pane_id)
    seen = await read_until(stream, b"\n700000\r\n")
    await wait_until(lambda: stream.recent_start > 0)
    assert stream.start == 0
    assert stream.read(0, stream.end) == seen
    middle = seen.index(b"\n350000\r\n") + 1
    assert stream.line_number(middle) == 349_999
    assert (stream.line_start(middle + 3), stream.next_line(middle)) == (middle, middle + 8)


async def test_lines_beyond_the_cap_are_counted_by_every_muxpilot(socket: str, binary: str) -> None:
    journals = Journals(JournalLimits(cap_bytes=200_000))
    async with muxpilot(socket, binary, journals=journals) as tmux:
        made = await tmux.sessions.create("ours", program=PaneProgram("seq 1 300000; exec sleep 60"))
        await read_until(stream_of(tmux, made.pane_id), b"\n300000\r\n")
    await journals.close()
    async with muxpilot(socket, binary) as tmux, tmux.streams.open(made.pane_id) as stream:
        assert 0 < stream.end - stream.start <= 200_000
        assert stream.line_number(stream.end) == 300_000
        first = stream.next_line(stream.start)
        assert stream.read(first, stream.next_line(first)) == b"%d\r\n" % (stream.line_number(first) + 1)


async def test_a_respawned_pane_has_a_journal_of_its_own(tmux: Tmux, socket: str, binary: str) -> None:
    made = await tmux.sessions.create("ours", program=PaneProgram("echo one; exec sleep 60"))
    await read_until(stream_of(tmux, made.pane_id), b"one\r\n")
    first = stream_of(tmux, made.pane_id).name
    await tmux.windows.respawn(made.pane_id, command="echo two; exec sleep 60", kill=True)
    await read_until(stream_of(tmux, made.pane_id), b"two\r\n")
    second = stream_of(tmux, made.pane_id).name
    async with muxpilot(socket, binary) as other:
        [earlier] = await other.streams.read_earlier(made.pane_id, first, before=second)
        assert earlier.read(0, earlier.end) == b"one\r\n"
        async with other.streams.open(made.pane_id) as stream:
            assert (stream.name, stream.read(0, stream.end)) == (second, b"two\r\n")


async def test_a_respawn_ends_the_stream_of_another_muxpilot(tmux: Tmux, socket: str, binary: str) -> None:
    made = await tmux.sessions.create("ours", program=PaneProgram("echo one; exec sleep 60"))
    await read_until(stream_of(tmux, made.pane_id), b"one\r\n")
    async with muxpilot(socket, binary) as other, follow_pane(other, made.pane_id) as follower:
        await follower.wait_for_bytes(b"one")
        await tmux.windows.respawn(made.pane_id, command="echo two; exec sleep 60", kill=True)
        assert (await follower.wait_for_end()).reason == "another program was started in the pane"
        assert follower.gaps == []
        async with follow_pane(other, made.pane_id) as again:
            await again.wait_for_bytes(b"two")


async def test_a_pane_of_a_muxpilot_that_is_gone_can_be_respawned(socket: str, binary: str) -> None:
    pane = kill_after_creating(socket, binary, "echo one; exec sleep 60")
    async with muxpilot(socket, binary) as tmux:
        await tmux.windows.respawn(pane, command="echo two; exit 4", kill=True)
        seen, end = await read_to_end(stream_of(tmux, pane))
        names = [generation.name for generation in await tmux.streams.journals.list(pane)]
    assert (seen, end.status) == (b"two\r\n", 4)
    assert len(names) == 2


async def test_all_journals_together_are_kept_below_their_limit(
    socket: str, binary: str, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muxpilot.journal.journals._CLEAN_SOON_S", 0.01)
    journals = Journals(JournalLimits(cap_bytes=400_000, total_bytes=500_000))
    async with muxpilot(socket, binary, journals=journals) as tmux:
        for number in range(3):
            program = PaneProgram("seq 1 200000; exec sleep 60")
            made = await tmux.sessions.create(f"flood{number}", program=program)
            await read_until(stream_of(tmux, made.pane_id), b"\n200000\r\n")
        # A program writes on into one segment, whatever the limit is.
        await wait_until(lambda: size_below(runtime) <= 500_000 + 3 * 100_000)
        assert b"\n200000\r\n" in stream_of(tmux, made.pane_id).read(0, 1 << 30)
    await journals.close()


def size_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("0*-0*") if path.is_file())


async def test_all_files_are_private(tmux: Tmux, raw: Raw, runtime: Path) -> None:
    made = await tmux.sessions.create("ours", program=PaneProgram("echo hello; exec sleep 60"))
    await read_until(stream_of(tmux, made.pane_id), b"hello")
    found = {(path.is_dir(), oct(path.stat().st_mode & 0o777)) for path in (runtime / "muxpilot").rglob("*")}
    assert found == {(True, "0o700"), (False, "0o600")}


async def test_each_pane_has_a_folder_for_all_muxpilots(tmux: Tmux, socket: str, binary: str) -> None:
    made = await tmux.sessions.create("ours", program=CAT)
    folder = await tmux.streams.journals.pane_folder(made.pane_id)
    assert folder is not None
    assert [one.path.parent for one in await tmux.streams.journals.list(made.pane_id)] == [folder]
    async with muxpilot(socket, binary) as other:
        assert await other.streams.journals.pane_folder(made.pane_id) == folder


async def test_the_writer_ends_with_the_pane(tmux: Tmux, raw: Raw) -> None:
    await tmux.sessions.create("home", program=PaneProgram("exec sleep 60"))
    made = await tmux.sessions.create("ours", program=CAT)
    [generation] = await tmux.streams.journals.list(made.pane_id)
    await wait_until(lambda: generation.is_being_written)
    pid = generation.writer_pid
    assert pid is not None
    raw("kill-pane", "-t", made.pane_id)
    await wait_until(lambda: generation.has_ended)
    await wait_until(lambda: not Path(f"/proc/{pid}/cmdline").exists() or not generation.is_being_written)
