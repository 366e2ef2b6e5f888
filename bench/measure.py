"""What the benchmarks share: interleaved timing, CPU time of processes, the machine, and one table."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import time
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

Call = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Times:
    """How long each call took, in milliseconds."""

    all_ms: Sequence[float]

    def at(self, share: float) -> float:
        ordered = sorted(self.all_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def __str__(self) -> str:
        return f"{self.at(0.5):.2f} / {self.at(0.99):.2f}"


async def interleaved(ways: Mapping[str, Call], *, rounds: int, at_once: int = 10) -> dict[str, Times]:
    """Call every way in turn, so that what disturbs the machine disturbs all of them alike.

    A few calls each at a time: tmux is still busy with the end of a process after that has been waited
    for, and whoever comes next would pay for it. The first of each few is not counted.
    """
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, call in ways.items():
            taken[name] += (await _timed(call, at_once + 1))[1:]
    return {name: Times(times) for name, times in taken.items()}


async def _timed(call: Call, times: int) -> list[float]:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await call()
        taken.append((time.perf_counter() - began) * 1000)
    return taken


async def throughput(call: Call, *, callers: int, each: int) -> float:
    """Calls per second when so many callers ask at once, each one again as soon as it is answered."""

    async def caller() -> None:
        for _ in range(each):
            await call()

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(callers)))
    return callers * each / (time.perf_counter() - began)


def cpu_s(pids: set[int]) -> float:
    """User and system time of these processes so far."""
    return sum(map(_cpu_s, pids))


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> set[int]:
    """A process and everything below it."""
    found = {pid}
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            found |= descendants(int(child))
    return found


def count_tokens(shown: object) -> int:
    """Count the tokens (o200k) of a text, or of something that is shown as JSON."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of its own loading
        import bpe_openai  # type: ignore[import-untyped]
    text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return len(bpe_openai.get_encoding("o200k_base").encode(text))


def machine() -> str:
    """The date and what this ran on."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cpu = models[0] if models else platform.processor() or platform.machine()
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    return f"{now}, {cpu}, {os.cpu_count()} cores, Python {platform.python_version()}"


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """One table in Markdown, its columns aligned."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, ["-" * width for width in widths], *rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
