"""Volume: many panes, long captures and floods, at 1, 10 and 100 times the size, beside tmux and version 1.

    ./dev bench volume [--only list capture watched executed] [--factors 1 10 100] [--rounds N]
                       [--limit S] [--base COMMIT]

Each size is measured with a new server of this tree, a new server of version 1 and tmux alone, in turn: a new
`tmux` process that lists or captures the same, or a pane that prints the same without any muxpilot. Memory is
the most that the server has had in its life, with this size only. `growth` is the time for each unit beside
that of the size before: 1 is linear.

What takes longer than `--limit` is told as such and not asked for again, nor are larger sizes, so that all
ends within a known time. Each row is printed when it is known. Other work of the machine changes times, but
hardly the CPU time of a server.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import machine, print_table
from bench.versions import worktree
from tests.rigs.wire import Wire

ROOT = Path(__file__).parents[1]
VERSION_1 = "4ad29c6"
MEGABYTE = 1 << 20
LONGEST_LINE = 1 << 26
PANES, LINES, FLOOD = 5, 1000, 2 * MEGABYTE
LINE = "line with some text as a program logs it, once more and once more"
TMUX, OURS, BASE = "tmux", "muxpilot", "version 1"
TIMES = ("what", "tmux", "muxpilot", "version 1", "times tmux", "times version 1")
COSTS = (
    *("what", "growth of time: tmux", "muxpilot", "version 1"),
    *("CPU time: muxpilot", "version 1", "its growth: muxpilot", "version 1", "MB: muxpilot", "version 1"),
)
FORMAT = (
    "#{pane_id} #{pane_index} #{pane_title} #{pane_active} #{pane_width} #{pane_height} #{pane_pid} "
    "#{pane_dead} #{pane_current_command} #{pane_current_path} #{window_id} #{session_id}"
)


class Setting:
    """A private tmux server, and servers of muxpilot on it."""

    def __init__(self, folder: str, limit_s: float) -> None:
        self.folder = folder
        self.socket = f"{folder}/socket"
        self.limit_s = limit_s
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "TERM") if name in os.environ},
            "HOME": folder,
            "SHELL": "/bin/sh",
            "PS1": "$ ",
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": folder,
        }

    def tmux(self, *args: str) -> str:
        argv = ("tmux", "-u", "-S", self.socket, "-f", "/dev/null", *args)
        done = subprocess.run(
            argv, env=self.environment, capture_output=True, text=True, check=True, timeout=self.limit_s
        )
        return done.stdout

    @asynccontextmanager
    async def serve(self, tree: Path) -> AsyncIterator[Wire]:
        """Run a server of a tree. One that does not end is killed."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "muxpilot", "--scope", "all", "--socket", self.socket),
            env={**self.environment, "PYTHONPATH": str(tree / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            limit=LONGEST_LINE,
            cwd=self.folder,
        )
        wire = Wire(process)
        try:
            await wire.shake_hands()
            yield wire
        finally:
            await wire.close()

    async def timed(self, wire: Wire, tool: str, **arguments: object) -> float:
        """Return the seconds of a call. It raises TimeoutError where that takes too long."""
        began = time.perf_counter()
        answer = await wire.ask(
            "tools/call", {"name": tool, "arguments": arguments}, limit_s=self.limit_s + 10
        )
        taken = time.perf_counter() - began
        assert not answer["result"].get("isError"), str(answer)[:300]
        if taken > self.limit_s:
            raise TimeoutError
        return taken


@contextmanager
def private_setting(limit_s: float) -> Iterator[Setting]:
    with tempfile.TemporaryDirectory(prefix="volume-") as folder:
        setting = Setting(folder, limit_s)
        setting.tmux("new-session", "-d", "-x", "200", "-y", "50", "exec sleep 36000")
        try:
            yield setting
        finally:
            subprocess.run(["tmux", "-S", setting.socket, "kill-server"], check=False, capture_output=True)


@dataclass
class Measured:
    """What one way took for one size; `is_late` if it took longer than the limit."""

    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    megabytes: float = 0.0
    is_late: bool = False


@dataclass
class Call:
    """A call, and the arguments of the tmux process that does the same."""

    tmux: Sequence[str]
    tool: str
    arguments: dict[str, object]


@dataclass
class Row:
    """One size of one thing, by each way."""

    what: str
    units: int
    ways: dict[str, Measured]

    def times(self, limit_s: float) -> list[str]:
        ours = self.value(OURS)
        return [
            self.what,
            *(show(self.ways.get(name), limit_s) for name in (TMUX, OURS, BASE)),
            *(ratio(ours, self.value(name)) for name in (TMUX, BASE)),
        ]

    def costs(self, before: Row | None) -> list[str]:
        """Return the growth from the next smaller size on, CPU time and memory."""
        servers = [self.ways.get(name, Measured()) for name in (OURS, BASE)]
        return [
            self.what,
            *(self.growth(before, name) for name in (TMUX, OURS, BASE)),
            *(show_seconds(median(each.cpu_seconds)) if each.cpu_seconds else "-" for each in servers),
            *(self.growth(before, name, is_cpu=True) for name in (OURS, BASE)),
            *(f"{each.megabytes:.0f}" if each.seconds else "-" for each in servers),
        ]

    def value(self, name: str, *, is_cpu: bool = False) -> float | None:
        measured = self.ways.get(name, Measured())
        values = measured.cpu_seconds if is_cpu else measured.seconds
        return median(values) if values and not measured.is_late else None

    def growth(self, before: Row | None, name: str, *, is_cpu: bool = False) -> str:
        """Return how a unit's cost has grown: 1 is linear."""
        now = self.value(name, is_cpu=is_cpu)
        then = before.value(name, is_cpu=is_cpu) if before is not None else None
        if now is None or not then or before is None:
            return "-"
        return f"{now / self.units / (then / before.units):.2f}"


def show(measured: Measured | None, limit_s: float) -> str:
    if measured is None or not (measured.seconds or measured.is_late):
        return "-"
    if measured.is_late:
        return f"> {limit_s:g} s"
    return show_seconds(median(measured.seconds))


def show_seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def ratio(above: float | None, below: float | None) -> str:
    return f"{above / below:.2f}" if above is not None and below else "-"


def cpu_s(pid: int) -> float:
    """Return the CPU time of all threads of a process, by the scheduler's own clock: ticks are too coarse."""
    spent = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        spent += int(path.read_text().split()[0])
    return spent / 1e9


def most_mb(pid: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


# Returns the seconds that something took, and those of the CPU for the server.
Way = Callable[[], Awaitable[tuple[float, float]]]


async def measure_ways(row: Row, ways: dict[str, Way], rounds: int) -> None:
    """Measure each way in turn. One that is too slow once is left out from then on."""
    for _ in range(rounds):
        for name, way in ways.items():
            measured = row.ways.setdefault(name, Measured())
            if measured.is_late:
                continue
            try:
                seconds, cpu_seconds = await way()
                measured.seconds.append(seconds)
                measured.cpu_seconds.append(cpu_seconds)
            except (TimeoutError, subprocess.TimeoutExpired):
                measured.is_late = True


async def measure_calls(setting: Setting, trees: dict[str, Path], row: Row, rounds: int, call: Call) -> None:
    """Measure a call beside a tmux process that does the same, with new servers for this size."""

    async def process() -> tuple[float, float]:
        began = time.perf_counter()
        setting.tmux(*call.tmux)
        return time.perf_counter() - began, 0.0

    async def ask(wire: Wire) -> tuple[float, float]:
        cpu = cpu_s(wire.pid)
        return await setting.timed(wire, call.tool, **call.arguments), cpu_s(wire.pid) - cpu

    async with AsyncExitStack() as stack:
        wires = {name: await stack.enter_async_context(setting.serve(tree)) for name, tree in trees.items()}
        for wire in wires.values():
            await setting.timed(wire, "list-sessions")  # connects
        ways: dict[str, Way] = {TMUX: process, **{name: partial(ask, wire) for name, wire in wires.items()}}
        await measure_ways(row, ways, rounds)
        for name, wire in wires.items():
            row.ways[name].megabytes = most_mb(wire.pid)


async def measure_list(setting: Setting, trees: dict[str, Path], factor: int, rounds: int) -> Row:
    count = PANES * factor
    for _ in range(count - len(setting.tmux("list-panes", "-a").splitlines())):
        setting.tmux("new-window", "-d", "exec sleep 36000")
    row = Row(f"list-panes, {count:,} panes", count, {})
    call = Call(("list-panes", "-a", "-F", FORMAT), "list-panes", {})
    await measure_calls(setting, trees, row, 3 * rounds, call)
    return row


async def measure_capture(setting: Setting, trees: dict[str, Path], factor: int, rounds: int) -> Row:
    lines = LINES * factor
    row = Row(f"capture-pane, {lines:,} lines", lines, {})
    setting.tmux("set-option", "-g", "history-limit", str(lines + 1000))
    printed = f"yes '{LINE}' | head -n {lines}; printf '\\033]2;printed\\007'; exec sleep 36000"
    pane = setting.tmux("new-window", "-d", "-P", "-F", "#{pane_id}", printed).strip()
    async with asyncio.timeout(setting.limit_s):
        while setting.tmux("display-message", "-p", "-t", pane, "#{pane_title}").strip() != "printed":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    asked = ("capture-pane", "-p", "-S", f"-{lines}", "-E", "-", "-t", pane)
    call = Call(asked, "capture-pane", {"paneId": pane, "lines": lines})
    await measure_calls(setting, trees, row, rounds, call)
    setting.tmux("kill-pane", "-t", pane)
    return row


async def measure_flood(
    setting: Setting, trees: dict[str, Path], factor: int, rounds: int, *, how: str
) -> Row:
    """Measure a flood, each time with a new server."""
    size = FLOOD * factor
    row = Row(f"{size // MEGABYTE} MB {how}", size, {})
    program = f"yes '{LINE}' | head -c {size}; echo; echo THE''END"

    async def flood(name: str, tree: Path) -> tuple[float, float]:
        async with setting.serve(tree) as wire:
            await setting.timed(wire, "list-panes")
            cpu = cpu_s(wire.pid)
            try:
                return await flood_server(setting, wire, program, how), cpu_s(wire.pid) - cpu
            finally:
                measured = row.ways[name]
                measured.megabytes = max(measured.megabytes, most_mb(wire.pid))

    ways: dict[str, Way] = {
        TMUX: partial(flood_tmux, setting, program),
        **{name: partial(flood, name, tree) for name, tree in trees.items()},
    }
    await measure_ways(row, ways, rounds if factor < 100 else max(1, rounds // 3))
    return row


async def flood_tmux(setting: Setting, program: str) -> tuple[float, float]:
    """Return how long a pane takes to print it, where nothing follows the pane."""
    done = Path(setting.folder) / "done"
    done.unlink(missing_ok=True)
    began = time.perf_counter()
    pane = setting.tmux("new-window", "-d", "-P", "-F", "#{pane_id}", f"{program}; touch {done}").strip()
    try:
        async with asyncio.timeout(setting.limit_s):
            while not done.exists():  # noqa: ASYNC110 - another process makes it
                await asyncio.sleep(0.01)
    except TimeoutError:
        setting.tmux("kill-pane", "-t", pane)
        raise
    return time.perf_counter() - began, 0.0


async def flood_server(setting: Setting, wire: Wire, program: str, how: str) -> float:
    """Return how long a server takes to see or run it to its end."""
    is_watched = how == "watched"
    made = await wire.call("create-session", command=f"read go; {program}; exec cat" if is_watched else "sh")
    pane, seconds = made["paneId"], int(setting.limit_s)
    try:
        if not is_watched:
            await setting.timed(wire, "execute-command", paneId=pane, command="true", timeoutSeconds=30)
            arguments = {"paneId": pane, "command": program, "timeoutSeconds": seconds}
            return await setting.timed(wire, "execute-command", **arguments)
        seen = asyncio.create_task(
            setting.timed(wire, "watch-pane", paneId=pane, triggers="pattern:^THEEND", timeout=seconds)
        )
        await asyncio.sleep(0.3)
        began = time.perf_counter()
        await wire.call("send-keys", paneId=pane, keys="", enter=True)
        await seen
        return time.perf_counter() - began
    finally:
        setting.tmux("kill-session", "-t", made["sessionId"])


Measure = Callable[[Setting, dict[str, Path], int, int], Awaitable[Row]]
MEASURES: dict[str, Measure] = {
    "list": measure_list,
    "capture": measure_capture,
    "watched": partial(measure_flood, how="watched"),
    "executed": partial(measure_flood, how="executed"),
}


async def measure(trees: dict[str, Path], given: argparse.Namespace) -> tuple[list[list[str]], ...]:
    """Measure all sizes, and print each row at once. Return the rows of both tables."""
    times: list[list[str]] = []
    costs: list[list[str]] = []
    for name in given.only:
        before: Row | None = None
        left = dict(trees)
        with private_setting(given.limit) as setting:
            for factor in sorted(given.factors):
                row = await MEASURES[name](setting, left, factor, given.rounds)
                times.append(row.times(given.limit))
                costs.append(row.costs(before))
                print(" | ".join((*times[-1], *costs[-1][1:])), flush=True)
                left = {way: tree for way, tree in left.items() if not row.ways[way].is_late}
                before = row
                if OURS not in left:
                    break
    return times, costs


def main() -> int:
    parser = argparse.ArgumentParser(description="volume, beside tmux and version 1")
    parser.add_argument("--only", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument("--factors", nargs="+", type=int, default=[1, 10, 100], help="multiples of the size")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a way is given up")
    parser.add_argument("--base", default=VERSION_1, help="the earlier commit; empty for none")
    given = parser.parse_args()
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}", flush=True)
    if given.base:
        with worktree(given.base) as base:
            times, costs = asyncio.run(measure({OURS: ROOT, BASE: base}, given))
    else:
        times, costs = asyncio.run(measure({OURS: ROOT}, given))
    print(f"load {os.getloadavg()[0]:.1f} at the end")
    print_table(TIMES, times)
    print()
    print_table(COSTS, costs)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
