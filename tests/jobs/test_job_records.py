"""The history of jobs: what each record changes, and what several muxpilots agree on."""

from __future__ import annotations

import math
from typing import Any

import pytest

from muxpilot.jobs.job_records import (
    Job,
    JobEnd,
    JobHistory,
    end_record,
    job_record,
    own_record,
    progress_record,
    stop_record,
)


def make_job(job_id: str = "w1", owner: str = "a") -> Job:
    return Job(job_id, "watch", "%3", owner, 5, {"offset": 7})


def make_history(*records: Any) -> JobHistory:
    history = JobHistory()
    for fields in records:
        history.apply(fields)
    return history


def test_a_job_is_known_with_all_that_is_needed_to_continue_it() -> None:
    job = make_history(job_record(make_job())).jobs["w1"]
    assert (job.kind, job.pane, job.owner, job.asked_ns, job.work) == ("watch", "%3", "a", 5, {"offset": 7})
    assert (job.progress, job.is_stop_asked, job.end) == ({}, False, None)


def test_the_last_owner_has_the_job() -> None:
    history = make_history(job_record(make_job()), own_record("w1", "b"), own_record("w1", "c"))
    assert history.jobs["w1"].owner == "c"


def test_the_first_end_counts_and_nothing_changes_afterwards() -> None:
    first, second = JobEnd({"status": "done"}, "a", 8), JobEnd({"status": "cancelled"}, "b", 9)
    history = make_history(
        job_record(make_job()), end_record("w1", first), end_record("w1", second), own_record("w1", "b")
    )
    assert (history.jobs["w1"].end, history.jobs["w1"].owner) == (first, "a")
    assert list(history.unfinished_jobs) == []


def test_the_last_progress_counts() -> None:
    records = [progress_record("w1", {"offset": number}) for number in (8, 9)]
    assert make_history(job_record(make_job()), *records).jobs["w1"].progress == {"offset": 9}


def test_a_stop_is_known_also_after_the_end() -> None:
    end = end_record("w1", JobEnd({}, "a", 8))
    assert make_history(job_record(make_job()), end, stop_record("w1")).jobs["w1"].is_stop_asked


def test_a_record_that_comes_twice_says_nothing_new() -> None:
    history = make_history(job_record(make_job()))
    once = [own_record("w1", "b"), progress_record("w1", {"n": 1}), stop_record("w1")]
    once.append(end_record("w1", JobEnd({}, "b", 8)))
    assert [history.apply(fields) is None for fields in once] == [False] * 4
    assert [history.apply(fields) is None for fields in [job_record(make_job()), *once]] == [True] * 5


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"t": "later", "id": "w1"},
        {"t": "job", "id": "w2"},
        {"t": "job", "id": ["w2"], "kind": 1, "pane": 1, "owner": 1, "asked": 1, "work": {}},
        {"t": "job", "id": "w2", "kind": "watch", "pane": "%1", "owner": "a", "asked": "x", "work": {}},
        {"t": "job", "id": "w2", "kind": "watch", "pane": "%1", "owner": "a", "asked": 1, "work": 7},
        {"t": "own", "id": "w1"},
        {"t": "own", "id": {}, "owner": "b"},
        {"t": "own", "id": "unknown", "owner": "b"},
        {"t": "end", "id": "w1", "result": None, "by": "a", "ended": 1},
        {"t": "progress", "id": "w1", "progress": 4},
        {"t": "job", "id": "w2", "kind": "watch", "pane": "%1", "owner": "a", "asked": math.inf, "work": {}},
        {"t": "end", "id": "w1", "result": {}, "by": "a", "ended": 10**400},
    ],
)
def test_damaged_and_unknown_records_change_nothing(fields: dict[str, Any]) -> None:
    history = make_history(job_record(make_job()))
    assert history.apply(fields) is None
    assert list(history.records()) == [job_record(make_job())]


def test_the_history_can_be_built_again_from_its_records() -> None:
    end = end_record("w1", JobEnd({"status": "done"}, "a", 8))
    records = [job_record(make_job()), progress_record("w1", {"n": 1}), stop_record("w1"), end]
    history = make_history(*records, job_record(make_job("w2")), own_record("w2", "b"))
    again = make_history(*history.records())
    assert list(again.records()) == list(history.records())
    assert [job.id for job in again.unfinished_jobs] == ["w2"]


def test_only_ended_jobs_are_forgotten_the_oldest_first() -> None:
    records = [job_record(make_job(f"w{number}")) for number in range(6)]
    ends = [end_record(f"w{number}", JobEnd({}, "a", 10 + number)) for number in (1, 2, 3, 4)]
    history = make_history(*records, *ends)
    history.forget_old(most=3, before_ns=0)
    assert list(history.jobs) == ["w0", "w2", "w3", "w4", "w5"]
    history.forget_old(most=3, before_ns=14)
    assert list(history.jobs) == ["w0", "w4", "w5"]
