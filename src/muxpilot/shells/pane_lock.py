"""Lock a pane against muxpilots that do not share its records, and take turns by a lock on a file.

Muxpilots that keep records share the lock: their turns are in the records of the pane. One of version 1, or
one that keeps everything in memory, takes it for itself. The file begins with the token of the muxpilot whose
marks the shell prints. All that share records have the same token, because they share the marks. After it
comes the process id of one that holds the lock for itself, for the log.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from muxpilot.errors import MuxpilotError
from muxpilot.file_lock import (
    is_still_at,
    open_lock_file,
    read_owner,
    remove_if_unused,
    try_lock,
    unlock,
    write_owner,
)
from muxpilot.processes.identity import process_exists
from muxpilot.tasks import IdleTimer
from muxpilot.tmux import Pane
from muxpilot.tmux.hosts.endpoint import LOCK_SUFFIX, muxpilot_folder
from muxpilot.trace import Trace, describe_error

_PREFIX = "pane-"
_FAR_PREFIX = "far-"
_TOKEN_BYTES = 16
# Lock files that are not named after a process are removed when they were not used for so long.
_UNUSED_S = 86_400.0
_SHARED_TOKEN = b"muxpilot-shared2"


class CrossProcessPaneLock:
    """The lock of one pane: `try_acquire`, `mark_ours` when the shell has our marks, `release`.

    `release_soon` keeps it for `keep_s` if others can share it: the next command often follows at once.
    Set `is_shared` to False where no records are kept.
    """

    def __init__(self, socket: str, row: Pane, trace: Trace, *, keep_s: float) -> None:
        self.was_used_by_other = False
        self.is_shared = True
        self._single_token = secrets.token_hex(_TOKEN_BYTES // 2).encode()
        self._trace = trace
        self._last_token = b""
        self._file = -1  # stays open between turns: to open it takes longer than to lock it
        self._is_held = False
        self._refused_by = ""
        self._idle_timer = IdleTimer(keep_s, self.release)
        self._path: Path | None = None
        with suppress(OSError, MuxpilotError):  # without a folder no muxpilot waits for another
            folder = muxpilot_folder()
            _remove_old_files(folder)
            self._path = folder / _file_name(socket, row)

    @property
    def _own_token(self) -> bytes:
        return _SHARED_TOKEN if self.is_shared else self._single_token

    def try_acquire(self) -> bool:
        """Take the lock if no other muxpilot has it. Return whether we have it now."""
        self._idle_timer.stop()
        if self._is_held or self._path is None:
            return True
        if self._file < 0:
            try:
                self._file = open_lock_file(self._path)
            except OSError as error:
                self._trace.debug(
                    "no cross-process pane lock: its file cannot be opened", error=describe_error(error)
                )
                return True
        if not self._lock(self._path):
            return False
        self._is_held, self._refused_by = True, ""
        self.was_used_by_other = _read_token(self._file) not in (self._last_token, self._own_token, b"")
        if not self.is_shared:  # of several holders, none is the one that another waits for
            write_owner(self._file, offset=_TOKEN_BYTES)
        self._trace.debug("cross-process pane lock taken", was_used_by_other=self.was_used_by_other)
        return True

    def _lock(self, path: Path) -> bool:
        """Lock the file. One that was removed meanwhile is closed, and opened again at the next try."""
        with suppress(OSError):
            if not try_lock(self._file, is_shared=self.is_shared):
                self._log_refusal(self._file)
                return False
            if is_still_at(path, self._file):
                return True
        self.close()
        return False

    def _log_refusal(self, file: int) -> None:
        """Log which process has the lock, once for each holder: we try again many times a second."""
        if not self._trace.is_debug:
            return
        pid = read_owner(file, offset=_TOKEN_BYTES)
        holder = str(pid) if pid is not None and process_exists(pid) else "unknown"
        if holder != self._refused_by:
            self._refused_by = holder
            self._trace.debug("cross-process pane lock refused", held_by=holder)

    def mark_ours(self) -> None:
        """Write into the file that the shell has our marks now."""
        if self._is_held and (self.was_used_by_other or self._last_token != self._own_token):
            os.pwrite(self._file, self._own_token, 0)
        self.was_used_by_other, self._last_token = False, self._own_token

    def release(self) -> None:
        """Let the next muxpilot have the pane."""
        if self._is_held:
            if not self.is_shared:
                self._remove_owner()
            self._is_held = False
            unlock(self._file)
            self._trace.debug("cross-process pane lock released")

    def release_soon(self) -> None:
        """Release the lock at once, or a while later if others can share it."""
        if self.is_shared:
            self._idle_timer.restart()
        else:
            self.release()

    def close(self) -> None:
        """Close the file, and so release the lock if we have it."""
        self._idle_timer.close()
        self.release()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _remove_owner(self) -> None:
        with suppress(OSError):  # the next holder may be a version that writes no process id
            os.ftruncate(self._file, len(_read_token(self._file)))


def _read_token(file: int) -> bytes:
    """Return the token in a lock file. It is empty until a shell has marks, also if a process id follows."""
    return os.pread(file, _TOKEN_BYTES, 0).rstrip(b"\0")


def _file_name(socket: str, row: Pane) -> str:
    """Return a name by the pane's process; for a pane on another host by its server and id."""
    if row.remote_shell is None:
        return f"{_PREFIX}{row.pid}"
    # Other versions of muxpilot lock the same file, so its name must stay as it is.
    return _FAR_PREFIX + blake2b(f"{socket}\n{row.id}".encode(errors="replace"), digest_size=8).hexdigest()


def _remove_old_files(folder: Path) -> None:
    """Remove the files of panes whose process has ended, and lock files that are not used any more."""
    for file in folder.glob(f"{_PREFIX}*"):
        pid = file.name.removeprefix(_PREFIX)
        if pid.isdigit() and not process_exists(int(pid)):
            file.unlink(missing_ok=True)
    for pattern in (f"{_FAR_PREFIX}*", f"*{LOCK_SUFFIX}"):
        for file in folder.glob(pattern):
            remove_if_unused(file, _UNUSED_S)
