"""Faults of the machine: a full disk, a clock that jumps, another tmux (F13, F14, F20 to F22)."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import resource
import shutil
import struct
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from muxpilot import Tmux
from muxpilot.errors import BadInput, Refused
from tests.rigs.tmux_trees import second_tmux
from tests.rigs.waiting import LIMIT_S
from tests.rigs.wire import Place, Wire, private_place, serving
from tests.shells.conftest import Barrier

SOURCE = Path(__file__).parents[2] / "src" / "muxpilot"

# Modules that may use the wall clock: they show it to people, or compare it with times of tmux or of files.
MAY_USE_THE_WALL_CLOCK = {
    "file_lock.py",  # the times of files
    "journal/retention.py",
    "people/popup.py",  # when a person last pressed a key, as tmux tells it
    "tmux/own_panes.py",  # when the machine was started
    "tmux/streams/stream.py",  # the times of files
    "audit/audit_log.py",
    "record/cast.py",
    "policy/active_users.py",
    "view/audit_reader.py",
}
WALL_CLOCKS = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today"}

# Preloaded before the C library. It moves the wall clock by the seconds in a file.
CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(id, now);
    long off = 0;
    FILE *file = id == CLOCK_REALTIME && getenv("CLOCK") ? fopen(getenv("CLOCK"), "r") : NULL;
    if (file) {
        if (fscanf(file, "%ld", &off) != 1) off = 0;
        fclose(file);
    }
    now->tv_sec += off;
    return failed;
}
"""

# A message of tmux's protocol: type 12 says that the versions differ; the peer id is the server's version.
OTHER_VERSION = struct.pack("=IHHII", 12, 16, 0, 7, 1)


@pytest.fixture
def place() -> Iterator[Place]:
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "keeper", "cat")
        yield place


async def test_a_full_disk_stops_no_call_and_is_counted_and_told_once(place: Place) -> None:
    """A limit on the size of files stands for a full disk. A line that it cuts is removed again."""
    log = place.home / "audit"
    async with place.serve("--audit", str(log)) as wire:
        await wire.shake_hands()
        await wire.call("list-sessions")
        _, most = resource.prlimit(wire.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(wire.pid, resource.RLIMIT_FSIZE, (log.stat().st_size + 20, most))
        for _ in range(3):
            await wire.call("list-sessions")
        resource.prlimit(wire.pid, resource.RLIMIT_FSIZE, (most, most))
        await wire.call("list-panes")
        assert await wire.close_stdin() == 0
        assert (await wire.stderr()).count("audit log cannot be written") == 1
    first, last = log.read_text().splitlines()
    assert json.loads(first)["tool"] == "list-sessions"
    assert (json.loads(last)["tool"], json.loads(last)["lost"]) == ("list-panes", 3)


async def test_a_log_that_cannot_be_written_at_the_start_is_named(place: Place) -> None:
    async with place.serve("--audit", "/proc/none/log") as wire:
        assert await wire.wait_for_exit() == 2
        assert "/proc/none/log" in await wire.stderr()


def test_no_deadline_looks_at_the_wall_clock() -> None:
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in WALL_CLOCKS
    }
    assert found == MAY_USE_THE_WALL_CLOCK


@asynccontextmanager
async def serve_with_wrong_clock(place: Place, *args: str) -> AsyncIterator[tuple[Wire, Path]]:
    """Serve with a wall clock that is wrong by the seconds in a file. Monotonic time is right."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    clock, library = place.home / "clock", place.home / "clock.so"
    (place.home / "clock.c").write_text(CLOCK)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, place.home / "clock.c"], check=True)
    clock.write_text("0")
    # A new process: the library is preloaded when a program starts.
    variables = {"LD_PRELOAD": str(library), "CLOCK": str(clock)}
    async with serving(place.home, "--socket", place.socket, *args, env=variables, is_new=True) as wire:
        await wire.shake_hands()
        yield wire, clock


@pytest.mark.parametrize("days", [400, -400])
async def test_a_clock_that_jumps_neither_ends_nor_prolongs_a_wait(place: Place, days: int) -> None:
    log = place.home / "audit"
    async with serve_with_wrong_clock(place, "--audit", str(log)) as (wire, clock):
        pane = (await wire.call("create-session"))["paneId"]
        slow = await wire.start_call("execute-command", paneId=pane, command="sleep 1; echo over")
        short = await wire.start_call("watch-pane", paneId=pane, triggers="pattern:never", timeout=1)
        clock.write_text(str(days * 86_400))
        told = (await asyncio.wait_for(short, 40))["result"]["structuredContent"]
        assert told["event"] == "timeout"
        assert 1 <= told["elapsed"] < 40
        ran = (await asyncio.wait_for(slow, 40))["result"]["structuredContent"]
        assert (ran["output"], ran["exitCode"]) == ("over\n", 0)
        assert 1000 <= ran["elapsedMs"] < 40_000
    first, *_, last = (json.loads(line)["ts"] for line in log.read_text().splitlines())
    gone = datetime.fromisoformat(last) - datetime.fromisoformat(first)
    assert round(gone / timedelta(days=1)) == days  # it really jumped


@pytest.mark.parametrize("days", [400, -400])
async def test_what_was_kept_before_the_clock_jumped_is_told(place: Place, days: int) -> None:
    barrier = Barrier(place.home / "barrier")
    async with place.serve() as first:
        await first.shake_hands()
        pane = (await first.call("create-session"))["paneId"]
        done = await first.call("execute-command", paneId=pane, command="echo done")
        text = f"{barrier.command}; echo over; sh -c 'exit 3'"
        running = await first.call("execute-command", paneId=pane, command=text, waitMs=0)
        await first.kill()
    async with serve_with_wrong_clock(place) as (second, clock):
        clock.write_text(str(days * 86_400))
        barrier.open()
        for asked, wanted in ((done, ("done\n", 0)), (running, ("over\n", 3))):
            told = await second.call("get-command-result", commandId=asked["commandId"], waitMs=20_000)
            assert (told["output"], told["exitCode"]) == wanted, told
            assert told["elapsedMs"] < 60_000


async def test_a_newer_tmux_program_works_on_the_server_that_still_runs(place: Place) -> None:
    newer = second_tmux()
    if isinstance(newer, str):
        pytest.skip(newer)
    folder = place.home / "bin"
    folder.mkdir()
    (folder / "tmux").write_text(f'#!/bin/sh\nexec {newer} "$@"\n')
    (folder / "tmux").chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    async with serving(place.home, "--socket", place.socket, "--scope", "all", env={"PATH": path}) as wire:
        await wire.shake_hands()
        pane = (await wire.call("create-session", name="after"))["paneId"]
        ran = await wire.call("execute-command", paneId=pane, command="echo hello; (exit 3)")
        assert (ran["output"], ran["exitCode"]) == ("hello\n", 3)
        assert pane in str(await wire.call("list-panes"))
    assert "after" in place.tmux("list-sessions")


async def test_a_tmux_that_speaks_another_protocol_is_told_with_both_versions(folder: Path) -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OTHER_VERSION)
        await reader.read()
        writer.close()

    socket = str(folder / "s")
    async with await asyncio.start_unix_server(other, socket), Tmux(socket, timeout_s=LIMIT_S) as tmux:
        with pytest.raises(Refused, match=r"client \d+, server 7.*Restart tmux"):
            await tmux.sessions.list()


def test_a_path_too_long_for_a_socket_is_said(folder: Path) -> None:
    with pytest.raises(BadInput, match="longer than 103 bytes"):
        Tmux(str(folder / ("x" * 108)))
