"""Progress of long calls: a client that sent a progress token hears each second that its call still runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from muxpilot.calls import Caller, no_progress
from muxpilot.tasks import TaskSet

INTERVAL_S = 1.0


@contextmanager
def report_while_running(name: str, caller: Caller, deadline_s: float) -> Iterator[None]:
    """Report progress each second. A quick call costs one timer, or nothing if the client sent no token."""
    if caller.progress is no_progress:
        yield
        return
    loop = asyncio.get_running_loop()
    started = loop.time()
    reports = TaskSet()
    timer = loop.call_later(
        INTERVAL_S, lambda: reports.start(_report_each_second(name, caller, started, deadline_s))
    )
    try:
        yield
    finally:
        timer.cancel()
        reports.cancel()


async def _report_each_second(name: str, caller: Caller, started: float, deadline_s: float) -> None:
    loop = asyncio.get_running_loop()
    while True:
        seconds = loop.time() - started
        await caller.progress(seconds, deadline_s, f"{name}: {seconds:.0f} s")
        await asyncio.sleep(INTERVAL_S)
