"""Tell the other muxpilots of this user that a session has got a limit.

A muxpilot that no client has used yet is not connected to tmux, so tmux cannot tell it. It watches a folder
that all muxpilots of the user share, by inotify, which costs nothing while nothing happens. Where there is no
inotify, such a muxpilot learns of the session with its first call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from muxpilot.errors import MuxpilotError
from muxpilot.journal.folder_watch import FolderChange, FolderWatcher
from muxpilot.tmux.hosts.endpoint import ensure_private_folder, muxpilot_folder

_FOLDER, _FILE = "limits", "changed"


def announce_limit() -> None:
    """Wake the muxpilots that watch. A folder that cannot be used is no reason to fail."""
    with suppress(OSError, MuxpilotError):
        (_folder() / _FILE).write_bytes(b"1")


def watch_announcements(on_announced: Callable[[], None]) -> Callable[[], None]:
    """Call `on_announced` after each announcement. Return the function that stops this."""
    if sys.platform != "linux":
        return _do_nothing
    try:
        folder = _folder()
    except (OSError, MuxpilotError):
        return _do_nothing

    def on_change(change: FolderChange, name: str) -> bool:
        """Report a change of the file."""
        on_announced()
        return True

    watcher = FolderWatcher()
    if not watcher.has_inotify:
        watcher.close()
        return _do_nothing
    watcher.watch(folder, on_change)
    return watcher.close


def _folder() -> Path:
    return ensure_private_folder(muxpilot_folder() / _FOLDER)


def _do_nothing() -> None:
    pass
