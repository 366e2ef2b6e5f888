"""Changes in folders are noticed: by inotify, and without it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muxpilot.journal.folder_watch import FolderChange, FolderWatcher
from tests.rigs.engine import wait_until


class Changes:
    """Keeps what the watcher has reported."""

    def __init__(self) -> None:
        self.seen: list[tuple[FolderChange, str]] = []

    def note(self, change: FolderChange, name: str) -> bool:
        self.seen.append((change, name))
        return False


@pytest.fixture(params=[True, False], ids=["inotify", "polling"])
async def watcher(request: pytest.FixtureRequest) -> AsyncIterator[FolderWatcher]:
    watcher = FolderWatcher(may_use_inotify=request.param)
    yield watcher
    watcher.close()


async def test_a_change_is_reported(watcher: FolderWatcher, tmp_path: Path) -> None:
    changes = Changes()
    watcher.watch(tmp_path, changes.note)
    (tmp_path / "file").write_text("text")
    await wait_until(lambda: changes.seen)


async def test_nothing_is_reported_after_the_end(watcher: FolderWatcher, tmp_path: Path) -> None:
    changes, others = Changes(), Changes()
    stop = watcher.watch(tmp_path, changes.note)
    (tmp_path / "other").mkdir()
    watcher.watch(tmp_path / "other", others.note)
    stop()
    before = len(changes.seen)
    (tmp_path / "file").write_text("text")
    (tmp_path / "other" / "file").write_text("text")
    await wait_until(lambda: others.seen)
    assert len(changes.seen) == before


async def test_each_kind_of_change_has_its_name(tmp_path: Path) -> None:
    watcher, changes = FolderWatcher(), Changes()
    folder = tmp_path / "folder"
    folder.mkdir()
    watcher.watch(folder, changes.note)
    (folder / "file").write_text("text")
    await wait_until(lambda: (FolderChange.WRITTEN, "file") in changes.seen)
    (folder / "file").unlink()
    await wait_until(lambda: (FolderChange.REMOVED, "file") in changes.seen)
    folder.rmdir()
    await wait_until(lambda: (FolderChange.GONE, "") in changes.seen)
    assert changes.seen[0] == (FolderChange.CREATED, "file")
    watcher.close()


async def test_looking_becomes_rare_while_nothing_happens(tmp_path: Path) -> None:
    watcher, changes = FolderWatcher(may_use_inotify=False), Changes()
    watcher.watch(tmp_path, changes.note)
    began = asyncio.get_running_loop().time()
    await wait_until(lambda: len(changes.seen) >= 8)
    assert asyncio.get_running_loop().time() - began > 8 * 0.005
    watcher.close()
