"""Journals: the same bytes at the same offsets in every muxpilot, also after the first has been killed."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from muxpilot import Tmux
from muxpilot.journal.journals import JournalLimits, Journals
from muxpilot.tmux import PaneId, PaneProgram
from tests.rigs.engine import Raw, read_to_end, read_until, stream_of, wait_until
from tests.rigs.waiting import LIMIT_S, eventually
from tests.tmux.streams.conftest import RAW_TERMINAL, follow_pane, read_in_background, type_until_echoed

pytestmark = pytest.mark.both_tmux

CAT = PaneProgram(f"{RAW_TERMINAL}; exec cat")
FLOOD = "seq 1 20000; echo LAST"
FLOODED = b"".join(b"%d\r\n" % number for number in range(1, 20001)) + b"LAST\r\n"

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


@pytest.fixture(autouse=True)
def runtime(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the journals of each test in a folder of its own."""
    path = folder / "run"
    path.mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(path))
    return path


@asynccontextmanager
async def muxpilot(socket: str, binary: str, **more: object) -> AsyncIterator[Tmux]:
    async with Tmux(socket, binary=binary, config="/dev/null", timeout_s=10, **more) as tmux:  # type: ignore[arg-type]
        yield tmux


def kill_after_creating(socket: str, binary: str, command: str, *, remain: bool = False) -> PaneId:
    """Let another muxpilot create a pane, and kill that muxpilot. Return the pane's id."""
    argv = [sys.executable, "-c", CREATOR, socket, binary, command, "yes" if remain else "no"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as creator:
        try:
            assert creator.stdout is not None
            return PaneId(creator.stdout.readline().decode().strip())
        finally:
            creator.kill()


async def wait_until_raw(raw: Raw, pane: str) -> None:
    """Wait until `cat` runs in a pane: before that, the terminal echoes what is typed."""
    ask = ("display-message", "-p", "-t", pane, "#{pane_current_command}")
    await wait_until(lambda: raw(*ask) == "cat")


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


async def test_all_files_are_private(tmux: Tmux, raw: Raw, runtime: Path) -> None:
    made = await tmux.sessions.create("ours", program=PaneProgram("echo hello; exec sleep 60"))
    await read_until(stream_of(tmux, made.pane_id), b"hello")
    found = {(path.is_dir(), oct(path.stat().st_mode & 0o777)) for path in (runtime / "muxpilot").rglob("*")}
    assert found == {(True, "0o700"), (False, "0o600")}


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
