"""Journals beside pipes into memory and beside panes that nobody reads: latency, floods, idle cost, memory.

    ./dev bench journal [--megabytes N] [--rounds N]

All ways run in turn on one machine, so that what disturbs it disturbs all of them alike. It ends with 1 if a
byte is lost, or if a bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import Times, cpu_s, descendants, machine, print_table
from muxpilot import PaneProgram, Tmux
from muxpilot.tmux import Data, PaneId, PaneStream

LINE = "a line of text as it may be in a log, with the number of the beast, 666, and some more of it"
LINES_SEEN = 400
IDLE_PANES = 50
IDLE_S = 10.0
JOURNAL, MEMORY, UNREAD = "journal", "pipe into memory", "unread"
# Prints the time of a clock that all processes share.
CLOCK = (
    "import sys, time\n"
    "while True:\n"
    "    time.sleep(0.01)\n"
    "    sys.stdout.write(f'{time.monotonic_ns()}\\n')\n"
    "    sys.stdout.flush()\n"
)


@asynccontextmanager
async def engine(folder: str, way: str) -> AsyncIterator[Tmux]:
    socket = f"{folder}/{way.split()[0]}"
    async with Tmux(socket, config="/dev/null", keeps_journals=way == JOURNAL) as tmux:
        made = await tmux.sessions.create("home", program=PaneProgram("exec sleep 6000"))
        try:
            yield tmux
        finally:
            await tmux.sessions.kill(made.session_id)


def stream_of(tmux: Tmux, pane: PaneId) -> PaneStream:
    stream = tmux.streams.find_stream(pane)
    if stream is None:
        raise RuntimeError("a pane of ours has no stream")
    return stream


async def latency(tmux: Tmux, folder: str) -> Times:
    """Measure from the printing of a line to its arrival here."""
    script = Path(folder) / "clock.py"
    script.write_text(CLOCK)
    made = await tmux.sessions.create("clock", program=PaneProgram(f"exec {sys.executable} {script}"))
    taken: list[float] = []
    rest = b""
    async for event in stream_of(tmux, made.pane_id).follow(0):
        if isinstance(event, Data):
            now = time.monotonic_ns()
            *lines, rest = (rest + event.data).split(b"\n")
            taken += [(now - int(line)) / 1e6 for line in lines]
        if len(taken) > LINES_SEEN:
            break
    await tmux.sessions.kill(made.session_id)
    return Times(taken[20:])


async def flood(tmux: Tmux, way: str, folder: str, size: int) -> tuple[float, int]:
    """Return how long a flood takes until it is seen to its end, and how many of its bytes are missing."""
    go = f"{folder}/go-{time.monotonic_ns()}"
    os.mkfifo(go)
    socket, name = tmux.socket, f"over-{time.monotonic_ns()}"
    command = f"read x <{go}; yes '{LINE}' | head -c {size}; tmux -S {socket} wait-for -S {name}"
    if way == UNREAD:
        reply = await tmux.connection.run(("new-session", "-d", "-P", "-F", "#{pane_id}", command))
        pane = PaneId(reply.first_line)
    else:
        pane = (await tmux.sessions.create("flood", program=PaneProgram(command))).pane_id
    waiting = await asyncio.create_subprocess_exec("tmux", "-S", socket, "wait-for", name)
    await asyncio.sleep(0.3)
    began = time.perf_counter()
    await asyncio.to_thread(Path(go).write_text, "go\n")
    missing = 0
    if way != UNREAD:
        missing = size - await count_bytes(stream_of(tmux, pane))
    await waiting.wait()
    return time.perf_counter() - began, missing


async def count_bytes(stream: PaneStream) -> int:
    """Count the bytes of a stream to its end, without those that the terminal adds to each line."""
    count = 0
    async for event in stream.follow(0):
        if isinstance(event, Data):
            count += len(event.data) - event.data.count(b"\r")
    return count


async def idle_share(tmux: Tmux) -> float:
    """Return the share of a core that panes in which nothing happens take, in percent."""
    session = await tmux.sessions.create("idle", program=PaneProgram("exec sleep 6000"))
    for _ in range(IDLE_PANES - 1):
        await tmux.windows.create(session.session_id, program=PaneProgram("exec sleep 6000"))
    server, _ = await tmux.connection.server_process()
    await asyncio.sleep(1)
    pids = descendants(os.getpid()) | descendants(server)
    before = cpu_s(pids)
    await asyncio.sleep(IDLE_S)
    share = (cpu_s(pids) - before) / IDLE_S * 100
    await tmux.sessions.kill(session.session_id)
    return share


def rss_mb() -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


async def measure(folder: str, megabytes: int, rounds: int) -> bool:
    times: dict[str, list[float]] = {JOURNAL: [], MEMORY: [], UNREAD: []}
    delays: dict[str, list[float]] = {JOURNAL: [], MEMORY: []}
    missing = 0
    async with AsyncExitStack() as stack:
        engines = {way: await stack.enter_async_context(engine(folder, way)) for way in times}
        print(f"{machine()}, tmux {await engines[JOURNAL].version_text()}\n")
        for _ in range(rounds):
            for way, seen in delays.items():
                seen += (await latency(engines[way], folder)).all_ms
            for way, taken in times.items():
                seconds, lost = await flood(engines[way], way, folder, megabytes * 1_000_000)
                taken.append(seconds)
                missing += lost
        memory = rss_mb()
        idle = await idle_share(engines[JOURNAL])
    return report(times, delays, missing=missing, memory=memory, idle=idle, megabytes=megabytes)


def report(
    times: dict[str, list[float]],
    delays: dict[str, list[float]],
    *,
    missing: int,
    memory: float,
    idle: float,
    megabytes: int,
) -> bool:
    seconds = {way: statistics.median(taken) for way, taken in times.items()}
    ratio = seconds[JOURNAL] / seconds[UNREAD]
    p50 = {way: Times(seen).at(0.5) for way, seen in delays.items()}
    bars = [p50[JOURNAL] <= p50[MEMORY] * 4 / 3, ratio <= 1.5, missing == 0, idle < 0.5, memory < 100]
    words = ["met" if is_met else "missed" for is_met in bars]
    shown = {way: f"{seconds[way]:.1f} s" for way in times}
    rows = [
        [
            "a printed line, p50 / p99 ms",
            str(Times(delays[JOURNAL])),
            str(Times(delays[MEMORY])),
            "",
            f"p50 at most 1.33 times: {words[0]}",
        ],
        [f"{megabytes} MB", shown[JOURNAL], shown[MEMORY], shown[UNREAD], f"at most 1.5 times: {words[1]}"],
        ["times unread", f"{ratio:.2f}", f"{seconds[MEMORY] / seconds[UNREAD]:.2f}", "1.00", ""],
        ["bytes lost", str(missing), "", "", f"0: {words[2]}"],
        [f"{IDLE_PANES} idle panes", f"{idle:.2f} % of a core", "", "", f"< 0.5 %: {words[3]}"],
        ["memory after it", f"{memory:.0f} MB", "", "", f"< 100 MB: {words[4]}"],
    ]
    print_table(["", JOURNAL, MEMORY, UNREAD, "bar"], rows)
    return all(bars)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mx", dir="/tmp") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        if not asyncio.run(measure(folder, asked.megabytes, asked.rounds)):
            sys.exit(1)


if __name__ == "__main__":
    main()
