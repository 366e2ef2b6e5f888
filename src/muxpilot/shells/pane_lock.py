"""One muxpilot at a time types commands into a pane, of all that this user runs.

The lock is a locked file, so it ends with its owner, however that ends. The file names the last owner. If
that was another muxpilot, the shell prints its marks instead of ours.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from muxpilot.errors import MuxpilotError
from muxpilot.file_lock import open_lock_file, try_lock
from muxpilot.processes.identity import process_exists
from muxpilot.tmux import Pane
from muxpilot.tmux.hosts.endpoint import muxpilot_folder
from muxpilot.trace import Trace

_PREFIX = "pane-"


class CrossProcessPaneLock:
    """The lock of one pane: `try_acquire`, `mark_ours` when the shell has our marks, `release`."""

    def __init__(self, socket: str, row: Pane, trace: Trace) -> None:
        self.was_used_by_other = False
        self._trace = trace
        self._own_token = secrets.token_hex(8).encode()
        self._last_token = b""
        self._file = -1
        self._path: Path | None = None
        with suppress(OSError, MuxpilotError):  # without a folder no muxpilot waits for another
            folder = muxpilot_folder()
            _remove_old_files(folder)
            self._path = folder / _file_name(socket, row)

    def try_acquire(self) -> bool:
        """Take the lock if no other muxpilot has it. Return whether we have it now."""
        if self._file >= 0 or self._path is None:
            return True
        try:
            file = open_lock_file(self._path)
        except OSError as error:
            self._trace.debug("no pane lock: its file cannot be opened", error=error)
            return True
        if not self._lock(file):
            return False
        self._file = file
        self.was_used_by_other = os.pread(file, len(self._own_token), 0) != self._last_token
        self._trace.debug("pane lock taken", was_used_by_other=self.was_used_by_other)
        return True

    def _lock(self, file: int) -> bool:
        with suppress(OSError):
            if try_lock(file):
                return True
        os.close(file)
        self._trace.debug("pane lock refused: another muxpilot has it")
        return False

    def mark_ours(self) -> None:
        """Write into the file that the shell has our marks now."""
        if self._file >= 0 and (self.was_used_by_other or self._last_token != self._own_token):
            os.pwrite(self._file, self._own_token, 0)
        self.was_used_by_other, self._last_token = False, self._own_token

    def release(self) -> None:
        """Let the next muxpilot have the pane."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self._trace.debug("pane lock released")


def _file_name(socket: str, row: Pane) -> str:
    """Return a name by the pane's process; for a pane on another host by its server and id."""
    if row.remote_shell is None:
        return f"{_PREFIX}{row.pid}"
    return "far-" + blake2b(f"{socket}\n{row.id}".encode(errors="replace"), digest_size=8).hexdigest()


def _remove_old_files(folder: Path) -> None:
    """Remove the files of panes whose process has ended."""
    for file in folder.glob(f"{_PREFIX}*"):
        pid = file.name.removeprefix(_PREFIX)
        if pid.isdigit() and not process_exists(int(pid)):
            file.unlink(missing_ok=True)
