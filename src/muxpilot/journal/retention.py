"""How long journals stay: folders of panes that are gone long enough, and a limit for all journals.

Whichever muxpilot lives does this. Only files that are named as ours, in private folders, are removed.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from muxpilot.journal.folders import JOBS_FILE, Generation, JournalFolders, generations_in
from muxpilot.journal.segments import Segment, SegmentFiles
from muxpilot.records import record
from muxpilot.trace import area

_trace = area("tmux")
# A server on another host has jobs and no pane here. This is longer than the longest watch.
_JOBS_KEPT_S = 31 * 86_400.0


@record
class _KeptSegment:
    """A segment that may be removed."""

    modified: float
    size: int
    path: Path


def clean_journals(folders: JournalFolders, *, total_bytes: int, kept_s: float) -> None:
    """Remove the folders of panes that are gone for long, then the oldest segments beyond the limit."""
    for folder in folders.pane_folders():
        with suppress(OSError):
            if _is_outdated(folder, kept_s):
                shutil.rmtree(folder, ignore_errors=True)
                _trace.debug("journal removed", path=folder, why="its pane is gone")
                _remove_server_without_panes(folder.parent, kept_s)
    for server in folders.server_folders():
        if _age_s(server) > _JOBS_KEPT_S:
            _remove_server_without_panes(server, max(kept_s, _JOBS_KEPT_S))
    _remove_beyond(folders, total_bytes)


def _remove_server_without_panes(server: Path, kept_s: float) -> None:
    """Remove the folder of a server, if there is no pane in it and its jobs have not changed for long."""
    with suppress(OSError):
        names = os.listdir(server)
        paths = [server / name for name in names if name.startswith(JOBS_FILE)]
        if len(paths) == len(names) and all(_age_s(path) > kept_s for path in paths):
            for path in paths:
                path.unlink(missing_ok=True)
            server.rmdir()
            _trace.debug("folder of a server removed", path=server, why="its panes are gone")


def _age_s(path: Path) -> float:
    """Return how long ago a file or folder was changed; 0 if it is gone."""
    with suppress(OSError):
        return time.time() - path.lstat().st_mtime
    return 0.0


def _is_outdated(pane_folder: Path, kept_s: float) -> bool:
    """Return whether no pipe writes here any more, and nothing has changed for a time.

    A clock that jumps makes this early or late. It never concerns a pane whose pipe runs.
    """
    if any(generation.is_being_written for generation in generations_in(pane_folder)):
        return False
    newest = pane_folder.stat().st_mtime
    for folder, _, names in os.walk(pane_folder):
        newest = max(newest, *(os.lstat(os.path.join(folder, name)).st_mtime for name in [*names, "."]))
    return time.time() - newest > kept_s


def _remove_beyond(folders: JournalFolders, total_bytes: int) -> None:
    used, removable = 0, list[_KeptSegment]()
    for folder in folders.pane_folders():
        for generation in generations_in(folder):
            used += _collect(generation, removable)
    removable.sort(key=lambda kept: kept.modified)
    for kept in removable:
        if used <= total_bytes:
            return
        with suppress(OSError):
            kept.path.unlink()
            used -= kept.size
            _trace.debug("segment removed", path=kept.path, why="all journals are too large", used=used)


def _collect(generation: Generation, removable: list[_KeptSegment]) -> int:
    """Add the segments of a generation, but not the one that is being written. Return all their bytes."""
    files = SegmentFiles(generation.path)
    with suppress(OSError):
        files.scan()
    used = 0
    for segment in files.segments:
        kept = _stat_segment(generation, segment)
        used += kept.size
        if segment is not files.segments[-1] or not generation.is_being_written:
            removable.append(kept)
    return used


def _stat_segment(generation: Generation, segment: Segment) -> _KeptSegment:
    path = generation.path / segment.name
    try:
        found = path.lstat()
    except OSError:
        return _KeptSegment(0.0, 0, path)
    return _KeptSegment(found.st_mtime, found.st_size, path)
