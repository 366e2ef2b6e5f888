"""A pane that prints as fast as it can: the calls beside it, and the memory of the server that follows it.

    ./dev bench flood [--megabytes N]

The same calls before the flood and during it, by the server and by a new tmux process for each: what both
suffer is tmux's and the machine's part. It ends with 1 if a call fails, if what is printed is not seen to
its end, or if the memory is not flat.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import Call, Times, machine, print_table
from tests.rigs.wire import Place, Wire, private_place

MEGABYTE = 1 << 20
MOST_TIMES = 3
MOST_MB = 50
HEAD = ("list-panes, p50 / p95 / p99 ms", "before", "during", "p95, times", "bar")


def megabytes(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


async def timed(call: Call) -> float:
    began = time.perf_counter()
    await call()
    return (time.perf_counter() - began) * 1000


async def until(is_over: Callable[[], bool], ways: dict[str, Call], look: Callable[[], None]) -> list[Times]:
    """Every way in turn, with a pause between them, for as long as it lasts."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    while not is_over():
        for name, call in ways.items():
            taken[name].append(await timed(call))
        look()
        await asyncio.sleep(0.01)
    return [Times(times) for times in taken.values()]


def process_per_call(place: Place) -> Callable[[], Awaitable[None]]:
    async def call() -> None:
        argv = ("tmux", "-u", "-S", place.socket, "list-panes", "-a", "-F", "#{pane_id} #{pane_pid}")
        process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
        await process.communicate()
        assert process.returncode == 0

    return call


async def flooded(wire: Wire, place: Place, size: int) -> tuple[list[list[str]], bool]:
    ways: dict[str, Call] = {
        "muxpilot": lambda: wire.call("list-panes"),
        "a tmux process for each": process_per_call(place),
    }
    program = f"read go; yes {'x' * 99} | head -c {size}; echo; echo THE''END; exec cat"
    pane = (await wire.call("create-session", command=program))["paneId"]
    left = iter(range(200))
    before = await until(lambda: next(left, None) is None, ways, lambda: None)
    resting = most = megabytes(wire.pid)

    def look() -> None:
        nonlocal most
        most = max(most, megabytes(wire.pid))

    began = time.monotonic()
    seen = await wire.start_call("watch-pane", paneId=pane, triggers="pattern:^THEEND", timeout=3000)
    await wire.call("send-keys", paneId=pane, keys="", enter=True)
    during = await until(seen.done, ways, look)
    seconds = time.monotonic() - began
    event = seen.result()["result"]["structuredContent"]["event"]
    rows = [row(name, *times) for name, *times in zip(ways, before, during, strict=True)]
    print(f"{size / MEGABYTE:.0f} MB in {seconds:.1f} s, {len(during[0].all_ms)} calls beside it: {event}")
    print(f"memory {resting:.0f} MB before, {most:.0f} MB at most (+{MOST_MB} is the bar)\n")
    return rows, most - resting < MOST_MB and str(event).startswith("pattern")


def row(name: str, before: Times, during: Times) -> list[str]:
    times = during.at(0.95) / before.at(0.95)
    is_met = (
        f"at most {MOST_TIMES}: {'met' if times <= MOST_TIMES else 'missed'}" if name == "muxpilot" else ""
    )
    return [name, shown(before), shown(during), f"{times:.1f}", is_met]


def shown(times: Times) -> str:
    return " / ".join(f"{times.at(share):.1f}" for share in (0.5, 0.95, 0.99))


async def measured(size: int) -> int:
    print(machine())
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "keeper", "cat")
        async with place.serve("--scope", "all", is_new=True) as wire:
            await wire.shake_hands()
            rows, is_good = await flooded(wire, place, size)
    print_table(HEAD, rows)
    return 0 if is_good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description="calls beside a flood, measured")
    parser.add_argument("--megabytes", type=int, default=1000)
    return asyncio.run(measured(parser.parse_args().megabytes * MEGABYTE))


if __name__ == "__main__":
    raise SystemExit(main())
