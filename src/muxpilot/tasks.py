"""Sets of background tasks, and waiting for the next change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from muxpilot.trace import Trace, area


class TaskSet:
    """Background tasks that end with their owner. A task that fails is logged, never lost."""

    def __init__(self, trace: Trace | None = None) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._trace = trace or area("calls")

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None], *, name: str | None = None) -> asyncio.Task[None]:
        """Run `work` beside the caller until it ends or the set is closed."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._finish)
        return task

    async def wait(self) -> None:
        """Wait until every task has ended by itself."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Cancel every task and wait until all have ended."""
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    def _finish(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._trace.error("background task failed", task=task.get_name(), error=error)


class ChangeSignal:
    """Wakes everybody who waits for the next change; `count` tells whether one was missed."""

    __slots__ = ("_event", "count")

    def __init__(self) -> None:
        self.count = 0
        self._event = asyncio.Event()

    def notify(self) -> None:
        """Wake all who wait."""
        self.count += 1
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self, timeout_s: float | None = None, *, since: int | None = None) -> None:
        """Wait for the next change or the timeout; return at once if `count` is no longer `since`."""
        if since is not None and since != self.count:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._event.wait()

    async def wait_until(self, is_true: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until a condition holds, looking again at each change. Return whether it does."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while not is_true():
            left_s = deadline - loop.time()
            if left_s <= 0:
                return False
            await self.wait(left_s)
        return True
