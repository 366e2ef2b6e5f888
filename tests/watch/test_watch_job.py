"""What is written down about a background watch, and what becomes of a record that cannot be used."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from muxpilot import Tmux
from muxpilot.jobs.job_log import JobLog
from muxpilot.jobs.job_records import Job, JobEnd
from muxpilot.jobs.job_registry import JobRegistry
from muxpilot.jobs.server_jobs import ServerJobs
from muxpilot.journal.owners import Owners
from muxpilot.tmux import PaneId
from muxpilot.trace import area
from muxpilot.watch.background_watch import BackgroundWatch, WatchStatus
from muxpilot.watch.pane_state import PaneState
from muxpilot.watch.registry import WatchRegistry
from muxpilot.watch.result import WatchResult
from muxpilot.watch.triggers import parse_triggers
from muxpilot.watch.watch_job import KIND, WatchWork, describe_result, parse_result, start_taken_over
from muxpilot.watch.watch_run import WatchPlan
from tests.rigs.waiting import LIMIT_S

STATE = PaneState("%1", 7, 8, "cat", True, None, None, None, False, "/tmp")
RESULT = WatchResult("%1", None, "bell", "It rang \udc80", 1.5, "text 世", STATE, "a.1.2.3")
WORK = {
    "journal": "0001-abcdef",
    "offset": 0,
    "began": 0,
    "triggers": ["bell"],
    "timeout": 5.0,
    "pane": {"width": 80, "height": 24, "pid": 1, "command": "cat", "path": "/"},
    "command_pid": None,
}


@pytest.fixture
def binary() -> str:
    """Use one tmux version: differences between versions are tested with the streams."""
    return shutil.which("tmux") or "tmux"


@pytest.fixture
async def watches() -> AsyncIterator[WatchRegistry]:
    jobs = JobRegistry()
    watches = WatchRegistry(jobs)

    async def plan(tmux: Tmux, pane: PaneId, work: WatchWork) -> WatchPlan:
        return WatchPlan(
            tmux, pane, parse_triggers(work.triggers), work.timeout_s, start=start_taken_over(work)
        )

    watches.plan_taken_over = plan
    yield watches
    await watches.close()
    await jobs.close()


def test_a_result_is_the_same_after_it_was_written_down() -> None:
    assert parse_result(json.loads(json.dumps(describe_result(RESULT)))) == RESULT


@pytest.mark.parametrize("state", [None, {}, {"pane_id": "%1", "field_of_a_later_version": 1}])
def test_a_result_of_another_version_is_told_without_the_state_of_the_pane(state: Any) -> None:
    found = parse_result({**describe_result(RESULT), "pane_state": state})
    assert (found.event, found.output, found.pane_state) == ("bell", "text 世", {})


async def leave_job(tmux: Tmux, folder: Path, pane: str, work: dict[str, Any]) -> str:
    """Write down a watch of a muxpilot that is dead. Return its id."""
    kept = await tmux.streams.journals.server_folder()
    owners = Owners(folder)
    log = JobLog(kept, owners, area("jobs"), most=10, kept_s=60.0)
    log.add(Job("w1", KIND, pane, owners.own_token, time.monotonic_ns(), work))
    log.close()
    owners.close()
    return "w1"


@pytest.mark.parametrize(
    "damage",
    [
        {"offset": "x"},
        {"triggers": None},
        {"pane": 7},
        {"timeout": [1]},
        {"command_pid": "me"},
    ],
)
async def test_a_watch_whose_record_is_damaged_is_told_as_lost(
    tmux: Tmux, watches: WatchRegistry, tmp_path: Path, damage: dict[str, Any]
) -> None:
    made = await tmux.sessions.create("one")
    watch = await watches.find(tmux, await leave_job(tmux, tmp_path, made.pane_id, {**WORK, **damage}))
    assert await watch.wait_for_end(LIMIT_S)
    assert watch.failure == "a bug in muxpilot, or a damaged record"


async def test_a_watch_of_a_pane_without_any_journal_ends_with_the_pane(
    tmux: Tmux, watches: WatchRegistry, tmp_path: Path
) -> None:
    await tmux.sessions.create("one")
    watch = await watches.find(tmux, await leave_job(tmux, tmp_path, "%77", WORK))
    assert await watch.wait_for_end(LIMIT_S)
    assert watch.result is not None
    assert watch.result.event == "exit"
    assert "its output is not kept" in watch.result.detail
    assert not watch.is_asked_here


@pytest.mark.parametrize(
    "result",
    [7, [], {}, {"pane_state": {}, "elapsed": float("nan")}, {**describe_result(RESULT), "event": 7}],
)
def test_a_result_that_cannot_be_read_is_told_as_a_failure(result: Any) -> None:
    job = Job("w1", KIND, "%1", "a", 1, WORK, end=JobEnd({"status": "done", "result": result}, "a", 2))
    watch = BackgroundWatch(cast("ServerJobs", None), job)
    assert (watch.status, watch.result) == (WatchStatus.DONE, None)
    assert "damaged" in (watch.failure or "")
