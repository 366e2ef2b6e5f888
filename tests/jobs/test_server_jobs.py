"""Jobs that several muxpilots share: each has its own owner file and reads the same log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from muxpilot.errors import Refused
from muxpilot.jobs.job_log import JobLog
from muxpilot.jobs.job_records import Job
from muxpilot.jobs.server_jobs import ServerJobs
from muxpilot.journal.folders import JOBS_FILE
from muxpilot.journal.owners import Owners
from muxpilot.timing import JobTiming
from muxpilot.tmux import Tmux
from muxpilot.trace import area
from tests.rigs.engine import wait_until

QUICK = JobTiming(owner_check_s=0.01, stopped_owner_s=0.05)


class Muxpilot:
    """One muxpilot that continues every job, and notes what it is told."""

    leaves_stopped_owners = False

    def __init__(self, folder: Path | None, *, is_allowed: bool = True, most: int = 200) -> None:
        self.is_allowed = is_allowed
        self.is_full = False
        self.asked = 0
        self.taken: list[str] = []
        self.changed: list[str] = []
        self.owners = Owners(folder) if folder is not None else None
        trace = area("jobs")
        self.log = JobLog(folder, self.owners, trace, most=most, kept_s=60.0)
        tmux = Tmux("/tmp/no-server-is-asked")
        self.jobs = ServerJobs(tmux, self.log, {"watch": self}, key="", timing=QUICK, trace=trace)

    async def may_take_over(self, tmux: Tmux, job: Job) -> bool:
        self.asked += 1
        if self.is_full:
            raise Refused("Too many jobs are running.")
        return self.is_allowed

    def take_over(self, jobs: ServerJobs, job: Job) -> None:
        self.taken.append(job.id)

    def on_change(self, jobs: ServerJobs, job: Job) -> None:
        self.changed.append(job.id)

    def add(self, job_id: str, kind: str = "watch") -> Job:
        return self.jobs.add(Job(job_id, kind, "%1", self.jobs.own_token, 0, {}))

    def read(self, job_id: str) -> Job:
        """Return a job as this muxpilot knows it now."""
        self.jobs.sync()
        return self.jobs.jobs[job_id]

    async def die(self) -> None:
        await self.jobs.close()
        if self.owners is not None:
            self.owners.close()

    @property
    def is_looking(self) -> bool:
        return any(task.get_name() == "check owners of jobs" for task in asyncio.all_tasks())


Start = Callable[..., Muxpilot]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Return a function that starts a muxpilot on the same log."""
    started: list[Muxpilot] = []

    def start_one(**options: bool | int) -> Muxpilot:
        started.append(Muxpilot(tmp_path, **options))  # type: ignore[arg-type]
        return started[-1]

    yield start_one
    for muxpilot in started:
        await muxpilot.die()


async def test_a_job_of_a_dead_muxpilot_is_taken_over_by_one_that_lives(start: Start) -> None:
    first, second = start(), start()
    first.add("w1")
    assert not second.jobs.is_own(second.read("w1"))
    await first.die()
    await wait_until(lambda: second.taken == ["w1"])
    assert second.jobs.is_own(second.read("w1"))


async def test_a_job_stays_with_a_muxpilot_that_lives(start: Start) -> None:
    first, second = start(), start()
    job = first.add("w1")
    assert not await second.jobs.take_over_now(second.read("w1"))
    assert (second.taken, first.read("w1").owner) == ([], job.owner)


async def test_one_of_several_has_the_job_in_the_end(start: Start) -> None:
    first, *others = start(), start(), start(), start()
    first.add("w1")
    for other in others:
        other.read("w1")
    await first.die()
    await wait_until(lambda: any(other.jobs.is_own(other.read("w1")) for other in others))
    assert [other.jobs.is_own(other.read("w1")) for other in others].count(True) == 1


async def test_a_muxpilot_looks_at_owners_only_while_others_have_unfinished_jobs(start: Start) -> None:
    first, second = start(), start()
    second.jobs.sync()
    first.add("w0")
    assert not first.is_looking, "nobody else has a job"
    second.read("w0")
    assert second.is_looking
    first.jobs.end(first.read("w0"), {})
    second.read("w0")
    await wait_until(lambda: not second.is_looking)


async def test_what_the_policy_refuses_is_left_to_others_and_not_asked_again(start: Start) -> None:
    first, second, third = start(), start(is_allowed=False), start()
    first.add("w1")
    second.read("w1")
    await first.die()
    await wait_until(lambda: not second.is_looking)
    assert (second.taken, second.asked) == ([], 1)
    third.read("w1")
    await wait_until(lambda: third.taken == ["w1"])


async def test_a_muxpilot_that_can_do_no_more_tries_again_later(start: Start) -> None:
    first, second = start(), start()
    second.is_full = True
    first.add("w1")
    second.read("w1")
    await first.die()
    await wait_until(lambda: second.asked >= 3)
    assert second.taken == []
    second.is_full = False
    await wait_until(lambda: second.taken == ["w1"])


async def test_a_kind_of_job_of_a_later_version_is_left_alone(start: Start) -> None:
    first, second = start(), start()
    first.add("x1", "later")
    second.read("x1")
    await first.die()
    await wait_until(lambda: not second.is_looking)
    assert second.read("x1").owner == first.log.history.jobs["x1"].owner


async def test_only_the_first_end_is_told(start: Start) -> None:
    first, second = start(), start()
    job = first.add("w1")
    same = second.read("w1")
    assert second.jobs.end(same, {"by": "second"})
    assert not first.jobs.end(job, {"by": "first"})
    assert job.end is not None
    assert job.end.result == {"by": "second"}


async def test_a_muxpilot_that_begins_later_knows_what_has_ended(start: Start) -> None:
    first = start()
    first.jobs.end(first.add("w1"), {"event": "bell"})
    await first.die()
    end = start().read("w1").end
    assert end is not None
    assert end.result == {"event": "bell"}


async def test_a_wait_for_the_end_is_over_when_another_muxpilot_ends_it(start: Start) -> None:
    first, second = start(), start()
    first.add("w1")
    job = second.read("w1")
    waiting = asyncio.create_task(second.jobs.wait_for_end(job, 20.0))
    first.jobs.end(first.read("w1"), {})
    second.jobs.sync()
    assert await waiting
    assert not await first.jobs.wait_for_end(first.add("w2"), 0.01)


async def test_a_large_log_begins_anew_with_what_is_kept(start: Start, tmp_path: Path) -> None:
    first, second = start(most=3), start(most=3)
    for number in range(60):
        first.jobs.end(first.add(f"w{number}"), {"text": "x" * 400_000})
    first.add("last")
    second.jobs.sync()
    assert list(second.jobs.jobs) == ["w57", "w58", "w59", "last"]
    assert sum(path.stat().st_size for path in tmp_path.glob(f"{JOBS_FILE}*")) < 40 << 20
    assert list(start(most=3).log.sync()) != []


async def test_jobs_are_known_in_memory_where_nothing_can_be_written(start: Start, tmp_path: Path) -> None:
    first = start()
    first.add("w0")
    (tmp_path / JOBS_FILE).unlink()
    (tmp_path / JOBS_FILE).mkdir()
    job = first.add("w1")
    assert first.jobs.is_own(job)
    assert first.jobs.end(job, {"event": "bell"})
    assert first.jobs.jobs["w1"].end is not None
    alone = Muxpilot(None)
    assert alone.jobs.end(alone.add("w2"), {})
