"""Progress of long calls: a client that sent a progress token hears each second that its call still runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from muxpilot.calls import Caller, no_progress
from muxpilot.tasks import TaskSet

_NOTHING = nullcontext()
INTERVAL_S = 1.0


def report_while_running(name: str, caller: Caller, deadline_s: float) -> AbstractContextManager[None]:
    """Report progress each second. A quick call costs one timer, or nothing if the client sent no token."""
    return _NOTHING if caller.progress is no_progress else _report_while_running(name, caller, deadline_s)


@contextmanager
def _report_while_running(name: str, caller: Caller, deadline_s: float) -> Iterator[None]:
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
