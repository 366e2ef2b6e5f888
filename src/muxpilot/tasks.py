"""Sets of background tasks, and waiting for the next change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from muxpilot.trace import Trace, area

Result = TypeVar("Result")


async def cancel_and_wait(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until all have ended, so that nothing of them runs afterwards.

    The task that calls this is left out: it would wait for itself forever.
    """
    ending = [task for task in tasks if task is not asyncio.current_task()]
    for task in ending:
        task.cancel()
    if ending:
        await asyncio.wait(ending)


class TaskSet:
    """Background tasks that end with their owner. A task that fails is logged, never lost."""

    def __init__(self, trace: Trace | None = None) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._trace = trace or area("calls")

    def __len__(self) -> int:
        return len(self._tasks)

    def start(
        self, work: Coroutine[Any, Any, Result], *, name: str | None = None, is_awaited: bool = False
    ) -> asyncio.Task[Result]:
        """Run `work` beside the caller until it ends or the set is closed.

        `is_awaited`: the caller waits for the task and gets its error, so that it need not be logged.
        """
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard if is_awaited else self._finish)
        return task

    @contextmanager
    def include_current(self) -> Iterator[None]:
        """Count the current task, which another part has started, as one of the set while it is in here."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)

    async def wait(self, timeout_s: float | None = None) -> None:
        """Wait until every other task of the set has ended by itself, or for the timeout."""
        now = asyncio.get_running_loop().time
        deadline = None if timeout_s is None else now() + timeout_s
        while others := self._tasks - {asyncio.current_task()}:
            left_s = None if deadline is None else deadline - now()
            if left_s is not None and left_s <= 0:
                return
            await asyncio.wait(others, timeout=left_s)

    def cancel(self) -> None:
        """Cancel every task of the set, and do not wait for their end."""
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """Cancel every other task of the set and wait until all have ended, also those they start."""
        while others := self._tasks - {asyncio.current_task()}:
            await cancel_and_wait(others)

    def _finish(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._trace.error("background task failed", task=task.get_name(), error=error)


class IdleTimer:
    """Calls a function once nothing has happened for a while. Call `restart` when something has.

    One timer of the event loop serves many restarts: it is set again only when it fires too early.
    """

    def __init__(self, delay_s: float, on_idle: Callable[[], None]) -> None:
        self._delay_s = delay_s
        self._on_idle = on_idle
        self._due_at: float | None = None  # by the clock of the event loop
        self._timer: asyncio.TimerHandle | None = None

    def restart(self) -> None:
        """Begin to wait, or begin again."""
        loop = asyncio.get_running_loop()
        self._due_at = loop.time() + self._delay_s
        if self._timer is None:
            self._timer = loop.call_at(self._due_at, self._check)

    def stop(self) -> None:
        """Do not call the function until the next `restart`."""
        self._due_at = None

    def close(self) -> None:
        """Cancel the timer."""
        self.stop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        self._timer = None
        if self._due_at is None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() < self._due_at:
            self._timer = loop.call_at(self._due_at, self._check)
        else:
            self._on_idle()


class ChangeSignal:
    """Wakes all tasks that wait for the next change; `count` shows whether a waiter has missed one."""

    __slots__ = ("_waiters", "count")

    def __init__(self) -> None:
        self.count = 0
        self._waiters: list[asyncio.Future[bool]] = []

    def notify(self) -> None:
        """Count a change, and wake all tasks that wait for one."""
        self.count += 1
        if self._waiters:
            waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                _wake(waiter, is_changed=True)

    async def wait(self, timeout_s: float | None = None, *, since: int | None = None) -> bool:
        """Wait for the next change or the timeout; return at once if `count` is no longer `since`.

        Return whether there was a change. A future and a timer cost half of what an event and a timeout do.
        """
        if since is not None and since != self.count:
            return True
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        self._waiters.append(waiter)
        timer = None if timeout_s is None else loop.call_later(timeout_s, _wake, waiter)
        try:
            return await waiter
        finally:
            if timer is not None:
                timer.cancel()
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    async def wait_until(self, is_true: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until a condition holds, checking it again after each change. Return whether it does."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while not is_true():
            left_s = deadline - loop.time()
            if left_s <= 0:
                return False
            await self.wait(left_s)
        return True


def _wake(waiter: asyncio.Future[bool], *, is_changed: bool = False) -> None:
    if not waiter.done():
        waiter.set_result(is_changed)
