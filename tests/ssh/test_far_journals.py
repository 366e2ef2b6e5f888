"""What panes of another host print while the connection is broken, or while no muxpilot runs."""

from __future__ import annotations

import asyncio
import os
import stat
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from muxpilot.journal.journals import JournalLimits
from muxpilot.tmux import Data, PaneId, Tmux
from muxpilot.tmux.streams.stream import Gap, PaneStream
from tests.rigs.muxpilots import call_and_wait
from tests.rigs.waiting import eventually
from tests.shells.conftest import Barrier
from tests.ssh.conftest import (
    WAIT_MS,
    RemoteHost,
    another_muxpilot,
    far_generations,
    run_muxpilot,
    wait_for_end,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("mended")]


def far_bytes(far: RemoteHost, pane: str) -> bytes:
    [generation] = far_generations(far, pane)
    return b"".join(path.read_bytes() for path in sorted(generation.glob("[0-9]*-*")))


async def test_a_cursor_counts_lines_over_the_end_of_a_muxpilot(far: RemoteHost) -> None:
    pane = await far.pane()
    async with another_muxpilot(far, is_killed=True) as first:
        await first.call("execute-command", paneId=pane, command="echo before")
        cursor = (await first.call("read-pane", paneId=pane))["cursor"]
    far.raw("send-keys", "-t", pane, "seq 1 2000", "Enter")
    await far.shows(pane, "2000\n")
    await wait_for_end(far, pane)
    async with another_muxpilot(far) as second:
        read = await second.call("read-pane", paneId=pane, since=cursor, maxLines=5)
    # The line that was typed, the numbers, and the prompt after them.
    assert (read["newLines"], read["missedLines"]) == (2002, 0), read
    assert "1997\n1998\n1999\n2000" in read["text"]


async def test_lines_that_the_far_journal_has_dropped_are_counted(far: RemoteHost, tmp_path: Path) -> None:
    config = tmp_path / "muxpilot.toml"
    config.write_text("[tracking]\njournal_cap_bytes = 65536\n")
    pane = await far.pane()
    async with another_muxpilot(far, "--config", str(config), is_killed=True) as first:
        await first.call("execute-command", paneId=pane, command="echo before")
        cursor = (await first.call("read-pane", paneId=pane))["cursor"]
    far.raw("send-keys", "-t", pane, "seq 100001 160000", "Enter")
    await far.shows(pane, "160000\n")
    await wait_for_end(far, pane)
    assert len(far_bytes(far, pane)) <= 65536
    async with another_muxpilot(far, "--config", str(config)) as second:
        read = await second.call("read-pane", paneId=pane, since=cursor, maxLines=5)
    assert read["missedLines"] > 40_000, read
    assert read["newLines"] + read["missedLines"] == 60_002, read


async def test_a_muxpilot_that_joins_late_says_what_it_does_not_read(
    far: RemoteHost, barrier: Barrier
) -> None:
    """Of a far journal that is within its cap, only the newest 1 MiB is read."""
    pane, last = await far.pane(), 200_000  # with the line ends 1.5 MB
    async with another_muxpilot(far, is_killed=True) as first:
        cursor = (await first.call("execute-command", paneId=pane, command="true"))["cursor"]
        line = f"{barrier.command}; seq {last}; sh -c 'exit 9'"
        running = await first.call("execute-command", paneId=pane, command=line, timeoutSeconds=0.2)
        assert running["status"] == "running"
    barrier.open()
    await far.shows(pane, f"{last}\n")
    await wait_for_end(far, pane)
    assert far_bytes(far, pane).count(b"\n") > last
    async with another_muxpilot(far) as second:
        told = await call_and_wait(
            second, "get-command-result", commandId=running["commandId"], waitMs=WAIT_MS
        )
        read = await second.call("read-pane", paneId=pane, since=cursor, maxLines=1)
        triggers = [f"pattern:^{last}$"]
        watched = await second.call("watch-pane", paneId=pane, since=cursor, triggers=triggers, timeout=60)
    assert (told["status"], told["exitCode"], told["outputTruncated"]) == ("failed", 9, True)
    assert "only the newest 1 MiB can be read" in told["reason"], told["reason"]
    assert told["output"].endswith(f"\n{last}\n")
    # The line that was typed, the numbers, and the prompt after them; the prompt before them was read.
    assert read["missedLines"] > 0, read
    assert last <= read["newLines"] + read["missedLines"] <= last + 2, read
    assert watched["event"] == triggers[0]
    assert "only the newest 1 MiB can be read" in watched["output"].split("\n")[0]


async def test_a_watch_of_a_killed_muxpilot_sees_what_was_printed_meanwhile(far: RemoteHost) -> None:
    pane = await far.pane()
    async with another_muxpilot(far, is_killed=True) as first:
        await first.call("execute-command", paneId=pane, command="true")
        begun = await first.call("notify-when", paneId=pane, triggers="pattern:^nee.le$", timeout=600)
    far.raw("send-keys", "-t", pane, "echo need''le; seq 1 500", "Enter")
    await far.shows(pane, "500\n")
    async with another_muxpilot(far) as second:
        told: dict[str, Any] = {}

        async def has_ended() -> bool:
            told.update(await call_and_wait(second, "get-watch", watchId=begun["watchId"]))
            return told["status"] not in ("running", "refused")

        await eventually(has_ended)
    assert "needle" in str(told), told


async def test_the_folder_on_the_far_host_is_private(far: RemoteHost) -> None:
    pane = await far.pane()
    await far.run(pane, "true")
    [generation] = far_generations(far, pane)
    root = far.folder / "home/.local/state/muxpilot"
    for path in (root, *root.rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert {path.name for path in generation.iterdir()} == {"pid", "program", f"{0:015}-{0:012}"}


async def test_a_folder_that_others_can_enter_is_not_used(far: RemoteHost) -> None:
    root = far.folder / "home/.local/state/muxpilot"
    root.mkdir(parents=True, exist_ok=True)
    root.chmod(0o755)
    try:
        pane = await far.pane()
        assert (await far.run(pane, "echo here"))["output"] == "here\n"
        assert not far_generations(far, pane)
    finally:
        root.chmod(0o700)


async def test_the_pipe_of_a_person_stays(far: RemoteHost, barrier: Barrier, tmp_path: Path) -> None:
    pane = await far.pane()
    far.raw("pipe-pane", "-t", pane, f"cat >{tmp_path}/theirs")
    assert (await far.run(pane, "echo seen"))["output"] == "seen\n"
    assert not far_generations(far, pane)
    running = await far.run(pane, barrier.command, timeoutSeconds=0.2)
    far.sshd.kill()
    barrier.open()
    await eventually(partial(far.is_at_its_prompt, pane))
    far.sshd.start()
    told = await far.call("get-command-result", commandId=running["commandId"], waitMs=WAIT_MS)
    assert (told["status"], told["exitCode"]) == ("lost", None), told
    assert "ended while its output was interrupted" in told["reason"]
    assert b"seen" in (tmp_path / "theirs").read_bytes()


async def test_a_pipe_that_a_person_replaces_in_the_gap_is_told(
    far: RemoteHost, barrier: Barrier, tmp_path: Path
) -> None:
    pane = await far.pane()
    await far.run(pane, "true")
    running = await far.run(pane, f"{barrier.command}; echo unseen", timeoutSeconds=0.2)
    far.sshd.kill()
    far.raw("pipe-pane", "-t", pane, f"cat >{tmp_path}/theirs")
    barrier.open()
    await wait_for_end(far, pane)
    far.sshd.start()
    told = await far.call("get-command-result", commandId=running["commandId"], waitMs=WAIT_MS)
    assert (told["status"], told["outputTruncated"]) == ("lost", True), told
    assert (await far.run(pane, "echo again"))["output"] == "again\n"


async def test_a_program_that_a_person_starts_in_the_pane_gets_a_journal_of_its_own(far: RemoteHost) -> None:
    pane = await far.pane()
    async with another_muxpilot(far, is_killed=True) as first:
        assert (await first.call("execute-command", paneId=pane, command="true"))["exitCode"] == 0
    far.raw("respawn-pane", "-k", "-t", pane)
    await eventually(partial(far.is_at_its_prompt, pane))
    async with another_muxpilot(far) as second:
        told = await second.call("execute-command", paneId=pane, command="echo new")
    assert (told["output"], told["exitCode"]) == ("new\n", 0), told
    assert len(far_generations(far, pane)) == 2


async def collect(stream: PaneStream, end: bytes) -> bytes:
    """Return all bytes of a stream up to these. No gap may come before."""
    data = b""
    async with asyncio.timeout(WAIT_MS / 1000):
        async for event in stream.follow(stream.start):
            assert not isinstance(event, Gap), event
            data += event.data if isinstance(event, Data) else b""
            if end in data:
                return data
    raise AssertionError("the stream has ended")


def print_all_the_time(far: RemoteHost, pane: str, barrier: Barrier, pause: str) -> None:
    """Let a pane print numbers that grow until the barrier is opened, and then `theend`."""
    numbers = f"a=0; while [ ! -e {barrier.file} ]; do a=$((a+1)); seq $a $((a+300)); {pause}; done"
    far.raw("send-keys", "-t", pane, f"{numbers}; echo the''end", "Enter")


async def has_more(stream: PaneStream, end: int) -> bool:
    return stream.end > end


@pytest.mark.parametrize("pause", ["sleep 0.0$((a % 10))", "sleep 0.4"], ids=["no silence", "some silence"])
async def test_offsets_are_those_of_the_journal_whenever_a_reader_comes(
    far: RemoteHost, barrier: Barrier, pause: str
) -> None:
    pane = PaneId(await far.pane())
    print_all_the_time(far, pane, barrier, pause)
    await far.shows(pane, "300\n")
    streams: list[tuple[int, bytes]] = []

    async def read_all(is_reading: asyncio.Event) -> None:
        async with Tmux(far.socket, ssh=far.sshd.arguments) as tmux, tmux.streams.open(pane) as stream:
            start = stream.start
            reading = asyncio.create_task(collect(stream, b"theend\r\n"))
            await eventually(partial(has_more, stream, stream.end))
            is_reading.set()
            streams.append((start, await reading))

    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            is_reading = asyncio.Event()
            group.create_task(read_all(is_reading))
            await is_reading.wait()
        barrier.open()
    kept = far_bytes(far, pane)
    for start, data in streams:
        assert data == kept[start : start + len(data)], (start, len(data))
    assert len(streams) == 3


async def test_a_reader_that_is_interrupted_again_and_again_misses_nothing(
    far: RemoteHost, barrier: Barrier
) -> None:
    pane = PaneId(await far.pane())
    async with Tmux(far.socket, ssh=far.sshd.arguments) as tmux, tmux.streams.open(pane) as stream:
        start = stream.start
        print_all_the_time(far, pane, barrier, "sleep 0.1")
        reading = asyncio.create_task(collect(stream, b"theend\r\n"))
        for _ in range(3):
            await eventually(partial(has_more, stream, stream.end))
            far.sshd.break_connections()
        await eventually(partial(has_more, stream, stream.end))
        barrier.open()
        data = await reading
    assert data == far_bytes(far, pane)[start : start + len(data)]


async def test_what_a_muxpilot_left_there_goes_when_its_time_is_over(far: RemoteHost) -> None:
    pane = PaneId(await far.pane())
    async with run_muxpilot(far, far.settings()) as it:
        assert (await it.run(pane, "true"))["exitCode"] == 0
    assert JournalLimits().kept_s >= 3600
    [generation] = far_generations(far, pane)
    far.raw("kill-pane", "-t", pane)

    async def has_ended() -> bool:
        return (generation / "end").exists()

    await eventually(has_ended)
    old = os.stat(generation).st_mtime - JournalLimits().kept_s - 120
    os.utime(generation, (old, old))
    await far.run(await far.pane(), "true")
    assert not generation.exists()
