"""The journals of one muxpilot: the limits, the folders, and the one watcher of all readers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from muxpilot.config import environment
from muxpilot.errors import MuxpilotError
from muxpilot.journal.folder_watch import FolderWatcher
from muxpilot.journal.folders import JournalFolders, first_usable
from muxpilot.journal.owners import Owners
from muxpilot.journal.retention import clean_journals
from muxpilot.records import record
from muxpilot.tasks import TaskSet
from muxpilot.trace import area

_CLEAN_PAUSE_S = 60.0
_CLEAN_SOON_S = 5.0
_trace = area("tmux")


@record
class JournalLimits:
    """How much is kept: of one pane, of all panes, and how long after the end of a pane."""

    cap_bytes: int = 16 << 20
    total_bytes: int = 512 << 20
    kept_s: float = 4 * 3600.0


class Journals:
    """What all streams of one muxpilot share.

    `last_resort` returns a folder for when no other can be made. Without `may_start`, journals are read where
    a pane has one, and none is started in the pane of a person.
    """

    def __init__(
        self,
        limits: JournalLimits | None = None,
        *,
        may_start: bool = True,
        last_resort: Callable[[], Path] | None = None,
    ) -> None:
        self.limits = limits or JournalLimits()
        self.may_start = may_start
        self._last_resort = last_resort
        self._folders: JournalFolders | None = None
        self._owners: Owners | None = None
        self._watcher: FolderWatcher | None = None
        self._tasks = TaskSet(_trace)
        self._has_no_folder = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def folders(self) -> JournalFolders | None:
        """Return the folders, or None if no private folder can be made anywhere."""
        if self._folders is None and not self._has_no_folder:
            root = first_usable(root_candidates())
            if root is None and self._last_resort is not None:
                with suppress(OSError, MuxpilotError):
                    root = self._last_resort()
            if root is None:
                _trace.warning("no private folder for journals: output is kept in memory only")
                self._has_no_folder = True
                return None
            _trace.debug("journals are kept", path=root)
            self._folders = JournalFolders(root)
        return self._folders

    @property
    def owners(self) -> Owners | None:
        """Return which muxpilots live, or None if no private folder can be made for their files."""
        if self._owners is None and self.folders is not None:
            try:
                self._owners = Owners(self.folders.owners_folder())
            except (OSError, MuxpilotError) as error:
                _trace.warning("muxpilots cannot be told apart: nothing is written down", error=error)
        return self._owners

    def release_owned(self) -> None:
        """Leave everything that this process is responsible for to others. Call it last."""
        if self._owners is not None:
            self._owners.close()

    @property
    def watcher(self) -> FolderWatcher:
        """Return the one watcher. With it begins the cleaning."""
        if self._watcher is None:
            self._watcher = FolderWatcher()
            self._clean_in(0.0)
        return self._watcher

    def clean_soon(self) -> None:
        """Check the sizes of all journals in a moment: one of them has a new segment."""
        if self._timer is not None and self._timer.when() > asyncio.get_running_loop().time() + _CLEAN_SOON_S:
            self._clean_in(_CLEAN_SOON_S)

    async def close(self) -> None:
        """Stop watching and cleaning. The journals stay."""
        await self._tasks.close()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    def _clean_in(self, pause_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(pause_s, self._start_cleaning)

    def _start_cleaning(self) -> None:
        self._timer = None
        self._tasks.start(self._clean(), name="clean journals")

    async def _clean(self) -> None:
        """Remove what is too old or too much, and do it again later."""
        try:
            if self._folders is not None:
                limits = self.limits
                await asyncio.to_thread(
                    clean_journals, self._folders, total_bytes=limits.total_bytes, kept_s=limits.kept_s
                )
                if self._owners is not None:
                    self._owners.remove_dead()
        finally:
            self._clean_in(_CLEAN_PAUSE_S)


def root_candidates() -> list[Path]:
    """Return where journals may be kept, the best place first."""
    runtime, state = environment.variable("XDG_RUNTIME_DIR"), environment.variable("XDG_STATE_HOME")
    home = environment.variable("HOME")
    folders = [runtime] if os.path.isdir(runtime) else []  # only the system may create that one
    folders += [state or (f"{home}/.local/state" if home else "")]
    return [Path(folder) / "muxpilot" for folder in folders if folder.startswith("/")]
