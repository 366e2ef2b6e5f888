"""Searching a buffer of 20 MB: how long it takes, what memory it needs, and what other calls wait meanwhile.

    ./dev bench search

Every search is one call of the tool, from its arguments to its answer, over the whole buffer. Its time is
the median of a few; `tmux alone` is what it takes to have the buffer written out, which each of them needs.
Memory is the peak of this process above what it had before the call; `mapped` is the buffer's own file,
which is read in place.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import machine, print_table
from muxpilot.app import App, build
from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope

SIZE = 20_000_000
ROUNDS = 5
NAME = "log"
LINE = "2026-11-16 12:{:02d}:{:02d} INFO worker-{} handled request {} in {} ms without anything to tell\n"
LAST = b"2026-11-16 13:00:00 ERROR conection refusd by upstream\n"

SEARCHES: dict[str, dict[str, Any]] = {
    "literal, at the end": {"query": "conection refusd", "mode": "literal"},
    "literal, not there": {"query": "no such words", "mode": "literal"},
    "regex, at the end": {"query": r"ERROR \w+ re.us\w+", "mode": "regex"},
    "regex, not there": {"query": r"(?m)^.* WARN(ING)? .*$|x{9}y", "mode": "regex"},
    "regex, the first 1000 of many": {"query": r"request \d+", "mode": "regex", "maxMatches": 1000},
    "fuzzy, at the end": {"query": "connection refused", "mode": "literal", "fuzzyMatch": True},
    "fuzzy, a long query": {"query": "connection refused by the upstream server at 10.0.0.1"}
    | {"mode": "literal", "similarityThreshold": 0.9},
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one search: seconds, matches, megabytes, and the longest that another call took meanwhile."""

    seconds: float
    matches: int
    peak_mb: float
    waited_ms: float


def content() -> bytes:
    lines, size, number = [], len(LAST), 0
    while size < SIZE:
        number += 1
        line = LINE.format(number // 60 % 60, number % 60, number % 8, number, number * 7 % 500).encode()
        lines.append(line)
        size += len(line)
    return b"".join((*lines, LAST))


def resident_kb(field: str) -> int:
    found = re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) if found else 0


def forget_peak() -> int:
    """From now on the peak is counted anew; answers what is in use."""
    Path("/proc/self/clear_refs").write_text("5")
    return resident_kb("VmRSS")


async def asked(app: App, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await app.dispatch.call(tool, arguments)
    if answer.is_error or answer.structured is None:
        raise RuntimeError(answer.text)
    return answer.structured


async def other_calls(app: App) -> float:
    """The longest of one call after the other, until told to stop."""
    longest = 0.0
    try:
        while True:
            began = time.perf_counter()
            await asked(app, "list-sessions")
            longest = max(longest, (time.perf_counter() - began) * 1000)
    except asyncio.CancelledError:
        return longest


async def cost(app: App, search: dict[str, Any]) -> Cost:
    given = {"buffer": NAME, "maxScanBytes": SIZE * 2, **search}
    await asked(app, "search-buffer", **given)  # the first loads what it needs
    before, times, matches = forget_peak(), [], 0
    for _ in range(ROUNDS):
        began = time.perf_counter()
        matches = (await asked(app, "search-buffer", **given))["totalMatches"]
        times.append(time.perf_counter() - began)
    peak_mb = (resident_kb("VmHWM") - before) / 1024
    others = asyncio.create_task(other_calls(app))
    await asyncio.sleep(0)
    await asked(app, "search-buffer", **given)
    others.cancel()
    return Cost(statistics.median(times), matches, peak_mb, await others)


async def tmux_alone(app: App) -> float:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        async with app.servers.default.buffers.open_content(NAME):
            times.append(time.perf_counter() - began)
    return statistics.median(times)


async def measure(folder: Path) -> None:
    app = build(Settings(scope=Scope.ALL, socket=str(folder / "s")))
    tmux = app.servers.default
    session = await tmux.sessions.create("bench")
    data = content()
    await tmux.buffers.set(NAME, data)
    mapped_mb = len(data) / 1e6
    del data
    print(f"{machine()}, tmux {await tmux.version_text()}, a buffer of {mapped_mb:.1f} MB\n")
    rows = []
    for name, search in SEARCHES.items():
        took = await cost(app, search)
        cells = (f"{took.seconds * 1000:.0f} ms", f"{took.peak_mb:.1f} MB", f"{took.waited_ms:.0f} ms")
        rows.append([name, str(took.matches), *cells])
    rows.append(["tmux alone", "", f"{await tmux_alone(app) * 1000:.0f} ms", "", ""])
    await tmux.sessions.kill(session.session_id)
    await app.close()
    print_table(["search", "matches", "time", "peak, mapped file included", "longest other call"], rows)


def main() -> None:
    argparse.ArgumentParser(description="searches in buffers, measured").parse_args()
    if shutil.which("tmux") is None:
        sys.exit("there is no tmux to measure")
    with tempfile.TemporaryDirectory(prefix="mx", dir="/tmp") as folder:
        asyncio.run(measure(Path(folder)))


if __name__ == "__main__":
    main()
