"""Which jobs a muxpilot knows: those of the tmux server that answers, and of no other."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muxpilot import Tmux
from muxpilot.jobs.job_log import JobLog
from muxpilot.jobs.job_records import Job
from muxpilot.jobs.job_registry import JobRegistry
from muxpilot.journal.owners import Owners
from muxpilot.trace import area
from tests.rigs.engine import Raw, wait_until


@pytest.fixture
def binary() -> str:
    """Use one tmux version: differences between versions are tested with the streams."""
    return shutil.which("tmux") or "tmux"


@pytest.fixture
async def registry() -> AsyncIterator[JobRegistry]:
    registry = JobRegistry()
    yield registry
    await registry.close()


async def folder_of(tmux: Tmux) -> Path:
    folder = await tmux.streams.journals.server_folder()
    assert folder is not None
    return folder


def write_job_of_another(folder: Path, owners: Owners, job_id: str) -> None:
    log = JobLog(folder, owners, area("jobs"), most=10, kept_s=60.0)
    log.add(Job(job_id, "later", "%0", owners.own_token, 0, {}))
    log.close()


async def test_a_job_of_another_muxpilot_is_noticed_without_asking(
    tmux: Tmux, registry: JobRegistry, tmp_path: Path
) -> None:
    await tmux.sessions.create("one")
    jobs = await registry.of(tmux)
    assert dict(jobs.jobs) == {}
    await asyncio.sleep(0)
    names = {task.get_name() for task in asyncio.all_tasks()}
    assert "check owners of jobs" not in names, "there is no job of others"
    write_job_of_another(await folder_of(tmux), Owners(tmp_path), "x1")
    await wait_until(lambda: "x1" in jobs.jobs)


async def test_a_folder_that_was_removed_is_made_again_and_watched(
    tmux: Tmux, registry: JobRegistry, tmp_path: Path
) -> None:
    await tmux.sessions.create("one")
    jobs, folder = await registry.of(tmux), await folder_of(tmux)
    shutil.rmtree(folder)
    await wait_until(folder.exists)
    write_job_of_another(folder, Owners(tmp_path), "x1")
    await wait_until(lambda: "x1" in jobs.jobs)


async def test_a_new_server_on_the_same_socket_has_none_of_the_jobs(
    tmux: Tmux, raw: Raw, registry: JobRegistry
) -> None:
    await tmux.sessions.create("one")
    jobs = await registry.of(tmux)
    jobs.add(Job("w1", "later", "%0", jobs.own_token, 0, {}))
    assert registry.find("w1", "later") is not None
    raw("kill-server")
    await tmux.sessions.create("two")
    assert "w1" not in (await registry.of(tmux)).jobs
    assert registry.find("w1", "later") is None


async def test_a_server_is_looked_at_when_a_call_has_connected_to_it_and_not_before(
    tmux: Tmux, raw: Raw, registry: JobRegistry, tmp_path: Path
) -> None:
    raw("new-session", "-d", "-s", "one", "cat")
    registry.note_use(tmux)
    await asyncio.sleep(0)
    assert tmux.connection.server_pid is None
    await tmux.panes.list()
    write_job_of_another(await folder_of(tmux), Owners(tmp_path), "x1")
    await wait_until(lambda: registry.find("x1", "later") is not None)
