"""The engine against one `tmux` process per call and against libtmux, side by side in one run.

    ./dev bench engine

Every row of plain calls asks tmux the same in all three ways, taken in turn: a process gets the very
same command, libtmux is used as its users use it (`server.panes`, `pane.send_keys`). It ends with 0
whether the bars are met or not: a noisy machine is not a failure, but it says so.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import libtmux

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import (
    Call,
    Times,
    cpu_s,
    descendants,
    interleaved,
    machine,
    print_table,
    throughput,
)
from muxpilot import Tmux
from muxpilot.tmux import PaneId, PaneProgram, SessionId
from muxpilot.tmux.formats import template
from muxpilot.tmux.models import PANE

ROUNDS = 30
CALLERS = 50
IDLE_PANES = 50
IDLE_S = 10.0
# For whole records no bar is set: tmux itself takes longer for them than the way to it does.
BARS: Mapping[str, float | None] = {"capture 1000 lines": 3.0, "panes.list(), whole records": None}


@dataclass(slots=True)
class Bench:
    """A private server with five panes, and the three ways to ask it."""

    tmux: Tmux
    binary: str
    threads: ThreadPoolExecutor
    rows: list[list[str]] = field(default_factory=list)

    async def process(self, *args: str) -> bytes:
        """One tmux process."""
        running = await asyncio.create_subprocess_exec(
            *(self.binary, "-u", "-S", self.tmux.socket, *args),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, err = await running.communicate()
        if running.returncode:
            raise RuntimeError(err.decode())
        return out

    async def in_thread(self, call: Callable[[], object]) -> object:
        return await asyncio.get_running_loop().run_in_executor(self.threads, call)

    def judge(self, name: str, times: Mapping[str, Times], bar: float | None) -> None:
        ours, *others = times.values()
        ratios = [other.at(0.5) / ours.at(0.5) for other in others]
        cells = [f"{time} ms" for time in times.values()]
        self.add(name, cells, ratios, bar)

    def add(self, name: str, cells: list[str], ratios: list[float], bar: float | None) -> None:
        verdict = "" if bar is None else f">= {bar:g}x: {'met' if min(ratios) >= bar else 'missed'}"
        shown = [f"{ratio:.1f}x" for ratio in ratios]
        self.rows.append([name, *cells, *shown, verdict])


def questions(bench: Bench, pane: PaneId, unfollowed: str) -> dict[str, dict[str, Call]]:
    """By name: the same question, asked by the engine, by a process and by libtmux.

    Keys go to a pane that nobody follows: what it echoes would be read by this process, whoever sent them.
    """
    server = libtmux.Server(socket_path=bench.tmux.socket)
    run = bench.tmux.connection.run
    records = template(PANE, counted=False)
    commands = {
        "display-message": ("display-message", "-p", "-t", pane, "#{pane_id}"),
        "list-panes, 5 panes": ("list-panes", "-a", "-F", "#{pane_id} #{pane_width} #{pane_height}"),
        "send-keys": ("send-keys", "-t", unfollowed, "-l", "x"),
        "panes.list(), whole records": ("list-panes", "-a", "-F", records),
        "capture 1000 lines": ("capture-pane", "-p", "-S", "-1000", "-E", "-", "-t", pane),
    }
    ours: dict[str, Call] = {name: partial(run, command) for name, command in commands.items()}
    ours["panes.list(), whole records"] = bench.tmux.panes.list
    ours["capture 1000 lines"] = partial(bench.tmux.capture.last_lines, pane, 1000)
    theirs, typed = server.panes.get(pane_id=str(pane)), server.panes.get(pane_id=unfollowed)
    assert theirs is not None
    assert typed is not None
    libtmux_calls: dict[str, Callable[[], object]] = {
        "display-message": partial(server.cmd, *commands["display-message"]),
        "list-panes, 5 panes": lambda: server.panes,
        "send-keys": partial(typed.send_keys, "x", enter=False, literal=True),
        "panes.list(), whole records": lambda: server.panes,
        "capture 1000 lines": partial(theirs.capture_pane, start=-1000),
    }
    return {
        name: {
            "muxpilot": ours[name],
            "process": partial(bench.process, *command),
            "libtmux": partial(bench.in_thread, libtmux_calls[name]),
        }
        for name, command in commands.items()
    }


async def plain_calls(bench: Bench, asked: dict[str, dict[str, Call]]) -> None:
    for name, ways in asked.items():
        bench.judge(name, await interleaved(ways, rounds=ROUNDS), bar=BARS.get(name, 15))


async def many_callers(bench: Bench, asked: dict[str, dict[str, Call]]) -> None:
    for name in ("display-message", "list-panes, 5 panes"):
        speeds = []
        for way, call in asked[name].items():
            each = 100 if way == "muxpilot" else 4
            speeds.append(await throughput(call, callers=CALLERS, each=each))
        cells = [f"{speed:,.0f}/s" for speed in speeds]
        ratios = [speeds[0] / speed for speed in speeds[1:]]
        bench.add(f"{CALLERS} callers, {name}", cells, ratios, bar=25)


async def idle_cost(bench: Bench, session: SessionId) -> None:
    """What it costs to follow panes in which nothing happens: us, tmux, and all that both have started."""
    for _ in range(IDLE_PANES):
        await bench.tmux.windows.create(session, program=PaneProgram("exec sleep 600"))
    [first, *_] = await bench.tmux.panes.list()
    server = (await bench.tmux.panes.get(first.id)).server_pid
    pids = descendants(os.getpid()) | descendants(server)
    before = cpu_s(pids)
    await asyncio.sleep(IDLE_S)
    share = (cpu_s(pids) - before) / IDLE_S * 100
    verdict = "met" if share < 1 else "missed"
    cells = [f"{share:.2f} % of a core", "", "", "", "", f"< 1 %: {verdict}"]
    bench.rows.append([f"{IDLE_PANES} streamed panes, idle", *cells])


async def fill(tmux: Tmux, session: SessionId) -> PaneId:
    """Five panes in all, with the unfollowed one; one has a thousand lines to show."""
    lines = "seq -f 'line %04g of a thousand, as wide as a line of a log may be' 1 1100; exec cat"
    made = await tmux.windows.create(session, program=PaneProgram(lines))
    for _ in range(2):
        await tmux.windows.split(made.pane_id, program=PaneProgram("exec cat"))
    stream = tmux.streams.find_stream(made.pane_id)
    if stream is None:
        raise RuntimeError("a pane of ours has no stream")
    async for event in stream.follow(0):
        if b"line 1100" in getattr(event, "data", b""):
            break
    return made.pane_id


async def measure(binary: str, folder: str) -> None:
    async with Tmux(f"{folder}/s", binary=binary, config="/dev/null") as tmux:
        session = await tmux.sessions.create("bench", program=PaneProgram("exec cat"))
        print(f"{machine()}, tmux {await tmux.version_text()}, libtmux {libtmux.__version__}\n")
        with ThreadPoolExecutor(CALLERS) as threads:
            bench = Bench(tmux, binary, threads)
            unfollowed = await bench.process("new-window", "-d", "-P", "-F", "#{pane_id}", "exec cat")
            pane = await fill(tmux, session.session_id)
            asked = questions(bench, pane, unfollowed.decode().strip())
            await plain_calls(bench, asked)
            await many_callers(bench, asked)
            await idle_cost(bench, session.session_id)
        await tmux.sessions.kill(session.session_id)
    head = ["p50 / p99", "muxpilot", "process", "libtmux", "vs process", "vs libtmux", "bar"]
    print_table(head, bench.rows)
    bars = [row[-1] for row in bench.rows if row[-1]]
    missed = sum("missed" in bar for bar in bars)
    print(f"\n{missed} of {len(bars)} bars missed" if missed else "\nall bars met")


def main() -> None:
    argparse.ArgumentParser(description="the engine, measured").parse_args()
    binary = shutil.which("tmux")
    if binary is None:
        sys.exit("there is no tmux to measure")
    with tempfile.TemporaryDirectory(prefix="mx", dir="/tmp") as folder:
        asyncio.run(measure(binary, folder))


if __name__ == "__main__":
    main()
