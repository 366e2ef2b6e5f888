"""Watching, measured: how soon a printed line is told, what idle watches cost, and a flood.

    ./dev bench watch

A line is printed and the answer awaited by a watch and by polling capture-pane, side by side in one run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import Times, cpu_s, machine, print_table
from muxpilot.app import App, build
from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope

HEAD = ("what", "ours", "rival", "ratio or bar")
MEGABYTE = 1 << 20

FLOODS = {
    "a flood": "x" * 99,
    "a flood in colours": "\"$(printf '\\033[32mINFO\\033[0m some \\033[1mtext\\033[m to read\\033[K')\"",
}

# Prints the time of each line that it is told to print, as a line of its own.
PRINTER = """
import sys, time
for line in sys.stdin:
    print(line.strip(), repr(time.monotonic()), flush=True)
"""


async def call(app: App, tool: str, **arguments: object) -> dict[str, object]:
    answer = await app.dispatch.call(tool, arguments)
    if answer.is_error or answer.structured is None:
        raise RuntimeError(answer.text)
    return answer.structured


@contextmanager
def private_tmux() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="mx", dir="/tmp")
    tmux = ["tmux", "-u", "-S", f"{folder}/s", "-f", "/dev/null"]
    os.environ |= {"HOME": folder, "SHELL": "/bin/sh"}
    try:
        subprocess.run([*tmux, "new-session", "-d", "-s", "keeper", "exec sleep 10000"], check=True)
        yield f"{folder}/s"
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def serving() -> AsyncIterator[App]:
    with private_tmux() as socket:
        app = build(Settings(scope=Scope.ALL, socket=socket))
        try:
            yield app
        finally:
            await app.close()


async def pane_with(app: App, program: str) -> str:
    return str((await call(app, "create-session", command=program))["paneId"])


async def printed(app: App, pane: str, word: str, wait: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds from the print to the moment when whoever waits knows of it."""
    waiting = asyncio.ensure_future(wait())
    await asyncio.sleep(random.uniform(0.2, 0.7))  # at any moment of a poller's pause
    await call(app, "send-keys", paneId=pane, keys=word, enter=True)
    known = await waiting
    assert isinstance(known, float)
    text = (await app.dispatch.call("capture-pane", {"paneId": pane})).text
    line = next(line for line in text.splitlines() if line.startswith(f"{word} "))
    return (known - float(line.split()[1])) * 1000


async def latencies(app: App, rounds: int) -> dict[str, Times]:
    pane = await pane_with(app, f"stty -echo; exec {sys.executable} -c '{PRINTER}'")
    taken: dict[str, list[float]] = {"watch": [], "200 ms": [], "500 ms": []}

    def watching(word: str) -> Callable[[], Awaitable[float]]:
        async def wait() -> float:
            await call(app, "watch-pane", paneId=pane, triggers=f"pattern:^{word} ", timeout=30)
            return time.monotonic()

        return wait

    def polling(word: str, pause_s: float) -> Callable[[], Awaitable[float]]:
        async def wait() -> float:
            while True:
                screen = await app.dispatch.call("capture-pane", {"paneId": pane})
                if f"{word} " in screen.text:
                    return time.monotonic()
                await asyncio.sleep(pause_s)

        return wait

    for turn in range(rounds):
        ways = {
            "watch": watching(f"w{turn}"),
            "200 ms": polling(f"p{turn}", 0.2),
            "500 ms": polling(f"q{turn}", 0.5),
        }
        words = {"watch": f"w{turn}", "200 ms": f"p{turn}", "500 ms": f"q{turn}"}
        for name, wait in ways.items():
            taken[name].append(await printed(app, pane, words[name], wait))
    return {name: Times(times) for name, times in taken.items()}


async def idle_cpu(app: App, watches: int, seconds: float) -> float:
    """Percent of one core that this process takes while nothing happens in so many watched shells."""
    ids = []
    for number in range(watches):
        pane = (
            await pane_with(app, "exec sleep 10000")
            if number % 2
            else str((await call(app, "create-session"))["paneId"])
        )
        triggers = "exit,user_input,error,pattern:x"
        ids.append((await call(app, "notify-when", paneId=pane, triggers=triggers, timeout=1000))["watchId"])
    await asyncio.sleep(5)  # the first looks are the closest together
    before, began = cpu_s({os.getpid()}), time.monotonic()
    await asyncio.sleep(seconds)
    used = 100 * (cpu_s({os.getpid()}) - before) / (time.monotonic() - began)
    for watch in ids:
        await call(app, "cancel-watch", watchId=watch)
    return used


def rss_mb() -> float:
    words = Path(f"/proc/{os.getpid()}/statm").read_text().split()
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


async def flood(app: App, megabytes: int, name: str, line: str) -> list[list[str]]:
    """A watched pane prints as fast as it can; other calls go on meanwhile."""
    size = megabytes * MEGABYTE
    program = f"sleep 1; yes {line} | head -c {size}; echo; echo THE''END; exec sleep 1000"
    pane = await pane_with(app, program)
    quiet = [await one_call(app) for _ in range(200)]
    before, began = rss_mb(), time.monotonic()
    watch = asyncio.ensure_future(
        call(app, "watch-pane", paneId=pane, triggers="pattern:^THEEND,error", timeout=600)
    )
    during, most = [], before
    while not watch.done():
        during.append(await one_call(app))
        most = max(most, rss_mb())
        await asyncio.sleep(0.02)
    answer = await watch
    seconds = time.monotonic() - began - 1
    missed = (
        str(answer["output"]).partition("\n")[0] if "not seen" in str(answer["output"]) else "nothing missed"
    )
    return [
        [
            f"{name}, {megabytes} MB, seen to its end: {answer['event']}",
            f"{seconds:.1f} s",
            "",
            f"{megabytes / seconds:.0f} MB/s; {missed}",
        ],
        [
            "our memory during it, at most (before it)",
            f"{most:.0f} MB",
            f"{before:.0f} MB",
            verdict(most, 100, "MB"),
        ],
        ["list-panes meanwhile, p50 / p99 ms (before it)", str(Times(during)), str(Times(quiet)), ""],
    ]


async def one_call(app: App) -> float:
    began = time.perf_counter()
    await call(app, "list-panes")
    return (time.perf_counter() - began) * 1000


def verdict(value: float, bar: float, unit: str) -> str:
    return f"< {bar:g} {unit}: {'met' if value < bar else 'missed'}"


async def measured(arguments: argparse.Namespace) -> list[list[str]]:
    rows = []
    async with serving() as app:
        times = await latencies(app, arguments.rounds)
        ours = times.pop("watch")
        for name, rival in times.items():
            ratio = statistics.median(rival.all_ms) / statistics.median(ours.all_ms)
            bar = f"; >= 100x: {'met' if ratio >= 100 else 'missed'}" if name == "500 ms" else ""
            rows.append(
                [
                    f"print to answer, p50 / p99 ms, against polling every {name}",
                    str(ours),
                    str(rival),
                    f"{ratio:.0f}x sooner{bar}",
                ]
            )
        used = await idle_cpu(app, arguments.watches, arguments.seconds)
        rows.append(
            [
                f"{arguments.watches} watches, nothing happening",
                f"{used:.2f} % of a core",
                "",
                verdict(used, 0.5, "%"),
            ]
        )
    for name, line in FLOODS.items():
        async with serving() as app:
            rows += await flood(app, arguments.megabytes, name, line)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="watching, measured")
    parser.add_argument("--rounds", type=int, default=30, help="lines printed for each way of waiting")
    parser.add_argument("--watches", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20, help="how long idle watches are measured")
    parser.add_argument("--megabytes", type=int, default=200, help="the size of the flood")
    arguments = parser.parse_args()
    version = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout.strip()
    rows = asyncio.run(measured(arguments))
    print(f"{machine()}, {version}, load {os.getloadavg()[0]:.1f}\n")
    print_table(HEAD, rows)


if __name__ == "__main__":
    main()
