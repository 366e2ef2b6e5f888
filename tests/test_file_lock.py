"""Locks between processes: exclusive and shared ones, and the removal of their files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from muxpilot import file_lock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def test_an_exclusive_lock_excludes_all_others_until_it_is_released(path: Path) -> None:
    held = file_lock.acquire(path)
    assert held is not None
    assert file_lock.acquire(path) is None
    assert file_lock.acquire(path, is_shared=True) is None
    file_lock.release(path, held)
    again = file_lock.acquire(path)
    assert again is not None
    file_lock.release(path, again)


def test_shared_locks_exclude_only_exclusive_ones(path: Path) -> None:
    first, second = (file_lock.acquire(path, is_shared=True) for _ in range(2))
    assert first is not None
    assert second is not None
    assert file_lock.acquire(path) is None
    file_lock.release(path, first)
    assert file_lock.acquire(path) is None
    file_lock.release(path, second)


def test_the_last_holder_removes_the_file(path: Path) -> None:
    first, second = (file_lock.acquire(path, is_shared=True) for _ in range(2))
    assert first is not None
    assert second is not None
    file_lock.release(path, first)
    assert path.exists()
    file_lock.release(path, second)
    assert not path.exists()


def test_a_lock_on_a_file_that_was_removed_meanwhile_does_not_count(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_and_remove(path: str | Path) -> int:
        file = os.open(path, os.O_RDWR | os.O_CREAT)
        os.unlink(path)
        return file

    monkeypatch.setattr(file_lock, "open_lock_file", open_and_remove)
    before = len(os.listdir("/proc/self/fd"))
    assert file_lock.acquire(path) is None
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        file_lock.acquire(path)


def test_a_lock_file_names_its_owner_to_those_that_wait(path: Path) -> None:
    held = file_lock.acquire(path)
    assert held is not None
    assert file_lock.read_owner(held) is None
    file_lock.write_owner(held, offset=16)
    assert (file_lock.read_owner(held), file_lock.read_owner(held, offset=16)) == (None, os.getpid())
    file_lock.release(path, held)
