"""Owners: a process is known to live, to be stopped or to be dead by its token."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from muxpilot.journal.owners import Owners, OwnerState
from tests.rigs.waiting import eventually

_HOLD = """
import sys
from pathlib import Path
from muxpilot.journal.owners import Owners
owners = Owners(Path(sys.argv[1]))
print(owners.own_token, flush=True)
sys.stdin.read()
"""


def _start_owner(folder: Path) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


async def _until(owners: Owners, token: str, state: OwnerState) -> None:
    async def has_state() -> bool:
        return owners.state(token) is state

    await eventually(has_state)


def test_this_process_lives_and_a_closed_owner_is_dead(tmp_path: Path) -> None:
    owners, others = Owners(tmp_path), Owners(tmp_path)
    token = owners.own_token
    assert owners.own_token == token
    assert owners.state(token) is OwnerState.ALIVE
    owners.close()
    assert others.state(token) is OwnerState.DEAD


def test_a_file_that_was_removed_is_created_again(tmp_path: Path) -> None:
    owners, others = Owners(tmp_path / "owners"), Owners(tmp_path / "owners")
    token = owners.own_token
    shutil.rmtree(tmp_path / "owners")
    assert others.state(token) is OwnerState.DEAD
    assert owners.own_token == token
    assert others.state(token) is OwnerState.ALIVE


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT], ids=["disk", "quota"])
def test_an_owner_lives_also_if_the_disk_or_the_quota_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    owners = Owners(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        token = owners.own_token
    assert Owners(tmp_path).state(token) is OwnerState.ALIVE


def test_unknown_and_hostile_tokens_belong_to_dead_processes(tmp_path: Path) -> None:
    owners = Owners(tmp_path)
    (tmp_path / "file").write_text("x")
    assert {owners.state(token) for token in ("", "../x", "file", "0" * 16)} == {OwnerState.DEAD}
    assert (tmp_path / "file").exists()


async def test_another_process_is_alive_stopped_and_dead(tmp_path: Path) -> None:
    process, token = _start_owner(tmp_path)
    owners = Owners(tmp_path)
    try:
        assert owners.state(token) is OwnerState.ALIVE
        process.send_signal(signal.SIGSTOP)
        await _until(owners, token, OwnerState.STOPPED)
        process.send_signal(signal.SIGCONT)
        await _until(owners, token, OwnerState.ALIVE)
        process.kill()
        await _until(owners, token, OwnerState.DEAD)
        assert os.listdir(tmp_path) == []
    finally:
        process.kill()
        process.communicate()


def test_files_of_dead_processes_are_removed_and_others_stay(tmp_path: Path) -> None:
    process, dead = _start_owner(tmp_path)
    process.kill()
    process.communicate()
    owners, others = Owners(tmp_path), Owners(tmp_path)
    kept = {owners.own_token, others.own_token, "something"}
    (tmp_path / "something").touch()
    assert (tmp_path / dead).exists()
    owners.remove_dead()
    assert {path.name for path in tmp_path.iterdir()} == kept
