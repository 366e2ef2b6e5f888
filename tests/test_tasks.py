"""Sets of background tasks, and waiting for the next change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from muxpilot.tasks import ChangeSignal, IdleTimer, TaskSet, cancel_and_wait

LIMIT_S = 10.0


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


async def test_a_closed_set_has_ended_all_its_tasks() -> None:
    tasks = TaskSet()
    started = [tasks.start(wait_for_ever()) for _ in range(3)]
    assert len(tasks) == 3
    await tasks.close()
    assert len(tasks) == 0
    assert all(task.cancelled() for task in started)


async def test_closing_waits_for_the_clean_up_of_a_task() -> None:
    tasks, steps = TaskSet(), list[str]()

    async def work() -> None:
        try:
            await wait_for_ever()
        finally:
            await asyncio.sleep(0)
            steps.append("cleaned up")

    tasks.start(work())
    await asyncio.sleep(0)
    await tasks.close()
    assert steps == ["cleaned up"]


async def test_a_task_that_starts_another_while_it_ends_leaves_none_behind() -> None:
    tasks = TaskSet()
    late: list[asyncio.Task[None]] = []

    async def work() -> None:
        try:
            await wait_for_ever()
        finally:
            late.append(tasks.start(wait_for_ever()))

    tasks.start(work())
    await asyncio.sleep(0)
    await asyncio.wait_for(tasks.close(), LIMIT_S)
    assert [task.cancelled() for task in late] == [True]


async def test_a_task_may_close_the_set_that_it_is_in() -> None:
    tasks = TaskSet()
    other = tasks.start(wait_for_ever())
    await asyncio.wait_for(tasks.start(tasks.close()), LIMIT_S)
    assert other.cancelled()


async def test_waiting_for_a_set_lets_its_tasks_end_by_themselves() -> None:
    tasks, go = TaskSet(), asyncio.Event()

    async def work() -> str:
        await go.wait()
        return "done"

    task = tasks.start(work())
    go.set()
    await asyncio.wait_for(tasks.wait(), LIMIT_S)
    assert (task.result(), len(tasks)) == ("done", 0)


async def test_a_task_that_fails_is_logged_and_a_cancelled_one_is_not(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("muxpilot"), "propagate", True)
    tasks = TaskSet()

    async def fail() -> None:
        raise ZeroDivisionError

    tasks.start(fail(), name="the failing one")
    tasks.start(wait_for_ever(), name="the cancelled one")
    await asyncio.sleep(0)
    await tasks.close()
    logged = [record.getMessage() for record in caplog.records]
    assert len(logged) == 1
    assert "background task failed" in logged[0]
    assert "the failing one" in logged[0]


async def test_cancelling_nothing_and_the_calling_task_does_not_wait() -> None:
    current = asyncio.current_task()
    assert current is not None
    await asyncio.wait_for(cancel_and_wait([]), LIMIT_S)
    await cancel_and_wait([current])
    await asyncio.sleep(0)


async def begin(work: Callable[[], Awaitable[bool]]) -> asyncio.Task[bool]:
    """Start a task and let it run until it waits."""

    async def run() -> bool:
        return await work()

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    return task


async def test_a_change_wakes_every_task_that_waits() -> None:
    signal = ChangeSignal()
    waiting = [await begin(signal.wait) for _ in range(3)]
    signal.notify()
    assert await asyncio.wait_for(asyncio.gather(*waiting), LIMIT_S) == [True] * 3
    assert signal.count == 1


async def test_an_earlier_change_does_not_wake_a_later_waiter() -> None:
    signal = ChangeSignal()
    signal.notify()
    assert await signal.wait(0) is False
    waiting = await begin(signal.wait)
    assert not waiting.done()
    signal.notify()
    assert await asyncio.wait_for(waiting, LIMIT_S)


async def test_a_change_that_was_missed_is_noticed_by_its_count() -> None:
    signal = ChangeSignal()
    known = signal.count
    signal.notify()
    assert await asyncio.wait_for(signal.wait(since=known), LIMIT_S) is True
    assert await signal.wait(0, since=signal.count) is False


async def test_a_waiter_that_gives_up_does_not_disturb_the_others() -> None:
    signal = ChangeSignal()
    waiting = await begin(signal.wait)
    assert await signal.wait(0.001) is False
    signal.notify()
    assert await asyncio.wait_for(waiting, LIMIT_S)


async def test_a_condition_is_checked_again_after_each_change() -> None:
    signal, values = ChangeSignal(), list[int]()
    waiting = await begin(lambda: signal.wait_until(lambda: len(values) == 2, LIMIT_S))
    for number in range(2):
        assert not waiting.done()
        values.append(number)
        signal.notify()
        await asyncio.sleep(0)
    assert await asyncio.wait_for(waiting, LIMIT_S)


async def test_a_condition_that_never_holds_ends_with_the_time() -> None:
    signal = ChangeSignal()
    assert await signal.wait_until(lambda: False, 0.001) is False
    assert await signal.wait_until(lambda: True, 0) is True


async def test_waiting_for_a_set_ends_with_the_time() -> None:
    tasks = TaskSet()
    task = tasks.start(wait_for_ever())
    await tasks.wait(0.001)
    assert not task.done()
    tasks.cancel()
    await tasks.wait()
    assert task.cancelled()


async def test_a_set_can_cancel_a_task_that_another_part_started() -> None:
    tasks = TaskSet()

    async def serve() -> None:
        with tasks.include_current():
            await wait_for_ever()

    serving = asyncio.create_task(serve())
    await asyncio.sleep(0)
    assert len(tasks) == 1
    tasks.cancel()
    await asyncio.wait([serving], timeout=LIMIT_S)
    assert serving.cancelled()
    assert len(tasks) == 0


async def test_the_error_of_an_awaited_task_is_its_callers_and_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await TaskSet().start(fail(), is_awaited=True)
    assert caplog.records == []


class IdleNotes:
    """An idle timer, and when it has fired."""

    def __init__(self, delay_s: float) -> None:
        self.times: list[float] = []
        self.timer = IdleTimer(delay_s, self._note)
        self._fired = asyncio.Event()

    def _note(self) -> None:
        self.times.append(asyncio.get_running_loop().time())
        self._fired.set()

    async def wait(self) -> float:
        async with asyncio.timeout(LIMIT_S):
            await self._fired.wait()
        self._fired.clear()
        return self.times[-1]


async def wait_s(seconds: float) -> None:
    passed = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, passed.set)
    await passed.wait()


async def test_an_idle_timer_waits_from_the_last_restart_and_fires_once() -> None:
    notes, loop = IdleNotes(0.3), asyncio.get_running_loop()
    notes.timer.restart()
    await wait_s(0.1)
    notes.timer.restart()
    last = loop.time()
    assert await notes.wait() >= last + 0.29
    assert len(notes.times) == 1


async def test_an_idle_timer_fires_again_after_another_restart() -> None:
    notes = IdleNotes(0.02)
    for count in (1, 2):
        notes.timer.restart()
        await notes.wait()
        assert len(notes.times) == count


@pytest.mark.parametrize("end", [IdleTimer.stop, IdleTimer.close])
async def test_an_idle_timer_that_was_stopped_does_not_fire_until_it_is_restarted(
    end: Callable[[IdleTimer], None],
) -> None:
    notes = IdleNotes(0.02)
    notes.timer.restart()
    end(notes.timer)
    await wait_s(0.06)
    assert notes.times == []
    notes.timer.restart()
    await notes.wait()
