"""One timer for all calls: each ends at its own deadline, and none before it."""

from __future__ import annotations

import asyncio

import pytest

from muxpilot.errors import NotAnswering
from muxpilot.tmux.connection.deadlines import Deadline, ReplyDeadlines


def future() -> asyncio.Future[int]:
    return asyncio.get_running_loop().create_future()


async def test_each_call_ends_at_its_own_deadline_whatever_came_before() -> None:
    deadlines, ended = ReplyDeadlines(), list[float]()
    calls = {limit_s: future() for limit_s in (0.06, 0.02, 60, 0.04)}
    for limit_s, call in calls.items():
        call.add_done_callback(lambda _, limit_s=limit_s: ended.append(limit_s))  # type: ignore[misc]
        deadlines.add(call, limit_s)
    await asyncio.wait([calls[0.06]], timeout=10)
    assert ended == [0.02, 0.04, 0.06]
    assert not calls[60].done()
    deadlines.close()


async def test_a_late_answer_is_said_to_be_late() -> None:
    deadlines, call = ReplyDeadlines(), future()
    deadlines.add(call, 0.01)
    with pytest.raises(NotAnswering, match=r"within 0\.01 s"):
        await call


async def test_a_call_that_is_done_is_left_alone() -> None:
    deadlines, done, later = ReplyDeadlines(), future(), future()
    deadlines.add(done, 0.01)
    done.set_result(1)
    deadlines.add(later, 0.02)
    with pytest.raises(NotAnswering):
        await later
    assert done.result() == 1


async def test_the_answered_do_not_pile_up_while_there_is_always_another() -> None:
    deadlines = ReplyDeadlines()
    for _ in range(5000):
        call = future()
        deadlines.add(call, 60)
        call.set_result(1)
    assert len(deadlines._pending) < 600
    deadlines.close()


async def test_several_things_in_a_row_have_one_deadline() -> None:
    with pytest.raises(NotAnswering, match=r"within 0\.01 s"):
        async with Deadline(0.01):
            await asyncio.sleep(60)
