"""Progress for calls that take long: who gave a token hears every second that the call is still on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from muxpilot.toolkit.context import Caller, unheard

BEAT_S = 1.0


@contextmanager
def heartbeat(name: str, caller: Caller, deadline_s: float) -> Iterator[None]:
    """A quick call pays for one timer and nothing else, and not for that if nobody listens."""
    if caller.progress is unheard:
        yield
        return
    loop = asyncio.get_running_loop()
    started = loop.time()
    beating: list[asyncio.Task[None]] = []
    timer = loop.call_later(
        BEAT_S, lambda: beating.append(loop.create_task(_beat(name, caller, started, deadline_s)))
    )
    try:
        yield
    finally:
        timer.cancel()
        for task in beating:
            task.cancel()


async def _beat(name: str, caller: Caller, started: float, deadline_s: float) -> None:
    loop = asyncio.get_running_loop()
    while True:
        seconds = loop.time() - started
        await caller.progress(seconds, deadline_s, f"{name}: {seconds:.0f} s")
        await asyncio.sleep(BEAT_S)
