"""Volume: many panes, long captures and floods, at 1, 10 and 100 times the size, beside tmux itself.

    ./dev bench volume [--rounds N] [--most 100] [--base COMMIT]

Each row is measured with a server of this tree, with a server of an earlier commit (version 1) and with tmux
alone, in turn: a new `tmux` process that lists or captures the same, or a pane that prints the same without
any muxpilot. The ratio is ours to tmux's. Memory is the most that the server has had in its life.
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
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import machine, print_table
from bench.versions import BASE, worktree
from tests.rigs.wire import LONGEST_LINE, Wire

ROOT = Path(__file__).parents[1]
MEGABYTE = 1 << 20
PANES, LINES, FLOOD = 5, 1000, 2 * MEGABYTE
LINE = "line with some text as a program logs it, once more and once more"
HEAD = ("what", "tmux", "muxpilot", "times tmux", "version 1", "times version 1", "server MB")
LIMIT_S = 600.0


class Setting:
    """A private tmux server, and servers of muxpilot on it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.socket = f"{folder}/socket"
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
        done = subprocess.run(argv, env=self.environment, capture_output=True, text=True, check=True)
        return done.stdout

    def end(self) -> None:
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], check=False, capture_output=True)

    @asynccontextmanager
    async def serve(self, tree: Path) -> AsyncIterator[Wire]:
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
        await wire.shake_hands()
        try:
            yield wire
        finally:
            assert process.stdin is not None
            process.stdin.close()
            await process.wait()


async def timed(wire: Wire, tool: str, **arguments: object) -> float:
    """Return the seconds of a call."""
    began = time.perf_counter()
    answer = await wire.ask("tools/call", {"name": tool, "arguments": arguments}, limit_s=LIMIT_S)
    assert not answer["result"].get("isError"), str(answer)[:300]
    return time.perf_counter() - began


def timed_tmux(setting: Setting, *args: str) -> float:
    began = time.perf_counter()
    setting.tmux(*args)
    return time.perf_counter() - began


def most_mb(pid: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


class Row:
    """What was measured of one thing: seconds of tmux, of this tree and of the earlier one."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.seconds: dict[str, list[float]] = {"tmux": [], "ours": [], "base": []}
        self.megabytes = 0.0

    def cells(self) -> list[str]:
        tmux, ours, base = (
            median(self.seconds[name]) if self.seconds[name] else None for name in self.seconds
        )
        assert tmux is not None
        assert ours is not None
        times = f"{ours / base:.2f}" if base is not None else "-"
        return [
            self.what,
            show(tmux),
            show(ours),
            f"{ours / tmux:.2f}",
            show(base) if base is not None else "-",
            times,
            f"{self.megabytes:.0f}",
        ]


def show(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


FORMAT = (
    "#{pane_id} #{pane_index} #{pane_title} #{pane_active} #{pane_width} #{pane_height} #{pane_pid} "
    "#{pane_dead} #{pane_current_command} #{pane_current_path} #{window_id} #{session_id}"
)


async def measure_panes(setting: Setting, wires: dict[str, Wire], count: int, rounds: int) -> Row:
    row = Row(f"list-panes, {count} panes")
    have = len(setting.tmux("list-panes", "-a").splitlines())
    for _ in range(count - have):
        setting.tmux("new-window", "-d", "exec sleep 3600")
    for _ in range(rounds):
        row.seconds["tmux"].append(timed_tmux(setting, "list-panes", "-a", "-F", FORMAT))
        for name, wire in wires.items():
            row.seconds[name].append(await timed(wire, "list-panes"))
    row.megabytes = most_mb(wires["ours"].pid)
    return row


async def measure_capture(setting: Setting, wires: dict[str, Wire], lines: int, rounds: int) -> Row:
    row = Row(f"capture-pane, {lines} lines")
    setting.tmux("set-option", "-g", "history-limit", str(lines + 1000))
    printed = f"yes '{LINE}' | head -n {lines}; printf '\\033]2;printed\\007'; exec sleep 3600"
    pane = setting.tmux("new-window", "-d", "-P", "-F", "#{pane_id}", printed).strip()
    while setting.tmux("display-message", "-p", "-t", pane, "#{pane_title}").strip() != "printed":  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    for _ in range(rounds):
        row.seconds["tmux"].append(
            timed_tmux(setting, "capture-pane", "-p", "-S", f"-{lines}", "-E", "-", "-t", pane)
        )
        for name, wire in wires.items():
            row.seconds[name].append(await timed(wire, "capture-pane", paneId=pane, lines=lines))
    setting.tmux("kill-pane", "-t", pane)
    row.megabytes = most_mb(wires["ours"].pid)
    return row


async def measure_flood(setting: Setting, trees: dict[str, Path], size: int, how: str, rounds: int) -> Row:
    """Measure a flood with a new server each, whose memory then belongs to it."""
    row = Row(f"{size // MEGABYTE} MB {how}")
    program = f"yes '{LINE}' | head -c {size}; echo; echo THE''END"
    for _ in range(rounds):
        row.seconds["tmux"].append(await flood_tmux(setting, program))
        for name, tree in trees.items():
            async with setting.serve(tree) as wire:
                await timed(wire, "list-panes")
                row.seconds[name].append(await flood_server(wire, program, how))
                if name == "ours":
                    row.megabytes = max(row.megabytes, most_mb(wire.pid))
    return row


async def flood_tmux(setting: Setting, program: str) -> float:
    """Return how long a pane takes to print it, where nothing follows the pane."""
    done = Path(setting.folder) / "done"
    done.unlink(missing_ok=True)
    began = time.perf_counter()
    setting.tmux("new-window", "-d", f"{program}; touch {done}")
    while not done.exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)
    return time.perf_counter() - began


async def flood_server(wire: Wire, program: str, how: str) -> float:
    made = await wire.call(
        "create-session", command=f"read go; {program}; exec cat" if how == "watched" else "sh"
    )
    pane = made["paneId"]
    if how == "executed":
        await timed(wire, "execute-command", paneId=pane, command="true", timeoutSeconds=30)
        taken = await timed(
            wire, "execute-command", paneId=pane, command=program, timeoutSeconds=int(LIMIT_S)
        )
    else:
        seen = asyncio.create_task(
            timed(wire, "watch-pane", paneId=pane, triggers="pattern:^THEEND", timeout=int(LIMIT_S))
        )
        await asyncio.sleep(0.3)
        began = time.perf_counter()
        await wire.call("send-keys", paneId=pane, keys="", enter=True)
        await seen
        taken = time.perf_counter() - began
    await wire.call("kill-session", sessionId=made["sessionId"])
    return taken


async def measure(trees: dict[str, Path], most: int, rounds: int) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory(prefix="volume-") as folder:
        setting = Setting(folder)
        setting.tmux("new-session", "-d", "-x", "200", "-y", "50", "exec sleep 3600")
        try:
            factors = [factor for factor in (1, 10, 100) if factor <= most]
            async with setting.serve(trees["ours"]) as ours:
                wires = {"ours": ours}
                if "base" in trees:
                    async with setting.serve(trees["base"]) as base:
                        wires["base"] = base
                        rows += [
                            await measure_panes(setting, wires, PANES * each, 3 * rounds) for each in factors
                        ]
                        rows += [
                            await measure_capture(setting, wires, LINES * each, rounds) for each in factors
                        ]
                else:
                    rows += [
                        await measure_panes(setting, wires, PANES * each, 3 * rounds) for each in factors
                    ]
                    rows += [await measure_capture(setting, wires, LINES * each, rounds) for each in factors]
        finally:
            setting.end()
    with tempfile.TemporaryDirectory(prefix="volume-") as folder:
        setting = Setting(folder)
        try:
            setting.tmux("new-session", "-d", "-x", "200", "-y", "50", "exec sleep 3600")
            for how in ("watched", "executed"):
                for each in factors:
                    few = rounds if each < 100 else max(1, rounds // 3)
                    rows.append(await measure_flood(setting, trees, FLOOD * each, how, few))
        finally:
            setting.end()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description="volume, beside tmux and version 1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most", type=int, default=100, help="the largest multiple: 1, 10 or 100")
    parser.add_argument("--base", default=BASE, help="the earlier commit; empty for none")
    given = parser.parse_args()
    print(machine())
    if given.base:
        with worktree(given.base) as base:
            rows = asyncio.run(measure({"ours": ROOT, "base": base}, given.most, given.rounds))
    else:
        rows = asyncio.run(measure({"ours": ROOT}, given.most, given.rounds))
    print_table(HEAD, [row.cells() for row in rows])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
