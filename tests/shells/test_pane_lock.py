"""The lock against muxpilots that do not share records: whose marks a shell has, and who holds the lock."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from muxpilot import file_lock
from muxpilot.shells import pane_lock
from muxpilot.shells.pane_lock import CrossProcessPaneLock
from muxpilot.tmux import Pane
from muxpilot.trace import Trace, area
from tests.rigs.waiting import eventually

OLD_TOKEN = b"0123456789abcdef"


@dataclass
class LocalPane:
    """The part of a pane that the lock looks at."""

    pid: int
    remote_shell: None = None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pane_lock, "muxpilot_folder", lambda: tmp_path)
    return tmp_path


def make_lock(*, keep_s: float = 60) -> CrossProcessPaneLock:
    trace: Trace = area("shells")
    return CrossProcessPaneLock("/tmp/s", cast("Pane", LocalPane(os.getpid())), trace, keep_s=keep_s)


def lock_file(folder: Path) -> Path:
    return folder / f"pane-{os.getpid()}"


def test_a_pane_that_no_other_muxpilot_used_keeps_its_marks(folder: Path) -> None:
    lock = make_lock()
    for _ in range(2):
        assert lock.try_acquire()
        assert not lock.was_used_by_other
        lock.release()
    assert lock_file(folder).read_bytes() == b""
    assert lock.try_acquire()
    lock.mark_ours()
    lock.release()
    assert lock.try_acquire()
    assert not lock.was_used_by_other


def test_muxpilots_of_this_version_share_the_lock_and_the_marks(folder: Path) -> None:
    ours, other = make_lock(), make_lock()
    for lock in (ours, other):
        assert lock.try_acquire()
        lock.mark_ours()
    ours.release()
    assert ours.try_acquire()
    assert not ours.was_used_by_other


def test_a_muxpilot_that_keeps_no_records_takes_turns_with_all_others(folder: Path) -> None:
    single, shared = make_lock(), make_lock()
    single.is_shared = False
    assert single.try_acquire()
    assert not shared.try_acquire()
    single.mark_ours()
    single.release()
    assert shared.try_acquire()
    assert shared.was_used_by_other
    assert not single.try_acquire()


async def test_a_shared_lock_is_kept_for_a_while_after_its_last_use(folder: Path) -> None:
    shared, single = make_lock(keep_s=0.05), make_lock()
    single.is_shared = False
    assert shared.try_acquire()
    shared.release_soon()
    assert shared.try_acquire()  # the next command: the lock is not released while it runs
    fired = asyncio.Event()
    asyncio.get_running_loop().call_later(0.1, fired.set)
    await fired.wait()
    assert not single.try_acquire()
    shared.release_soon()

    async def is_free() -> bool:
        return single.try_acquire()

    await eventually(is_free)
    single.release_soon()
    assert shared.try_acquire()
    shared.close()


def test_a_file_of_an_older_version_names_another_muxpilot(folder: Path) -> None:
    """The older version writes its token over ours, and leaves what follows."""
    lock = make_lock()
    lock_file(folder).write_bytes(OLD_TOKEN)
    assert lock.try_acquire()
    assert lock.was_used_by_other
    lock.release()
    assert lock_file(folder).read_bytes() == OLD_TOKEN
    assert lock.try_acquire()
    lock.mark_ours()
    lock.release()
    written = lock_file(folder).read_bytes()
    assert len(written) == len(OLD_TOKEN)
    assert written != OLD_TOKEN


def test_the_process_id_that_a_killed_muxpilot_left_is_no_token(folder: Path) -> None:
    lock_file(folder).write_bytes(b"\0" * 16 + b"4194305")
    lock = make_lock()
    assert lock.try_acquire()
    assert not lock.was_used_by_other


def test_a_muxpilot_of_version_1_excludes_us_and_is_named_once(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "muxpilot.shells")
    file = file_lock.open_lock_file(lock_file(folder))
    assert file_lock.try_lock(file)
    file_lock.write_owner(file, offset=len(OLD_TOKEN))
    waiter = make_lock()
    assert [waiter.try_acquire() for _ in range(3)] == [False] * 3
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [f"cross-process pane lock refused held_by={os.getpid()}"]
    os.close(file)
    assert waiter.try_acquire()


def test_a_muxpilot_of_version_1_waits_for_us(folder: Path) -> None:
    lock = make_lock()
    assert lock.try_acquire()
    file = file_lock.open_lock_file(lock_file(folder))
    assert not file_lock.try_lock(file)
    lock.release()
    assert file_lock.try_lock(file)
    os.close(file)


def test_lock_files_that_nothing_uses_are_removed_after_a_day(folder: Path) -> None:
    names = ("far-used", "far-unused", "used.turn", "unused.turn", "recent.turn", "far-linked", "kept")
    held = []
    for name in names:
        file = file_lock.open_lock_file(folder / name)
        os.utime(folder / name, (0, time.time() if "recent" in name else 1))
        if name in ("far-used", "used.turn"):
            assert file_lock.try_lock(file, is_shared=True)
            held.append(file)
        else:
            os.close(file)
    (folder / "far-linked").unlink()
    (folder / "far-linked").symlink_to(folder / "kept")
    os.utime(folder / "far-linked", (0, 1), follow_symlinks=False)
    make_lock()
    assert {path.name for path in folder.iterdir()} == set(names) - {"far-unused", "unused.turn"}
    for file in held:
        os.close(file)


def test_a_lock_file_that_was_removed_meanwhile_does_not_count(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = make_lock()

    def open_and_remove(path: Path) -> int:
        file = os.open(path, os.O_RDWR | os.O_CREAT)
        path.unlink()
        return file

    with monkeypatch.context() as patch:
        patch.setattr(pane_lock, "open_lock_file", open_and_remove)
        assert not lock.try_acquire()
    assert lock.try_acquire()
    assert lock_file(folder).exists()
