"""Which muxpilot processes live: each holds a lock on a file of its own, which ends with the process.

A record names the process that is responsible for it by the token of that file. The lock shows also across
pid namespaces whether the process lives. Whether it is stopped (SIGSTOP, a debugger) is known only for
processes that we can see under /proc.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from enum import Enum
from pathlib import Path

from muxpilot import file_lock
from muxpilot.journal.folders import ensure_private
from muxpilot.processes.identity import pid_namespace, this_process
from muxpilot.processes.proc import PROC, find_stat
from muxpilot.trace import area

_TOKEN = re.compile("[0-9a-f]{16}")
_CONTENT = re.compile(r"(\d{1,10}) (\d{1,20}) (\S{1,80})")
_MOST_CONTENT = 256
_trace = area("journal")


class OwnerState(Enum):
    """What the process behind a token does."""

    ALIVE = "alive"
    STOPPED = "stopped"
    DEAD = "dead"


class Owners:
    """The owner files of one user, in a private folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own: tuple[str, int] | None = None

    @property
    def own_token(self) -> str:
        """Return the token of this process. The first call creates its file.

        A file that was removed is created again: without it, this process would count as dead.
        """
        if self._own is None:
            self._own = self._create(secrets.token_hex(8))
        elif not (self._folder / self._own[0]).exists():
            token, removed = self._own
            self._own = self._create(token)
            os.close(removed)
            _trace.debug("owner file created again", owner=token)
        return self._own[0]

    def is_own(self, token: str) -> bool:
        """Return whether a token is the one of this process, which may have none yet."""
        return self._own is not None and token == self._own[0]

    def state(self, token: str) -> OwnerState:
        """Return what the process with this token does. A token without a file belongs to a dead process."""
        if self.is_own(token):
            return OwnerState.ALIVE
        if not _TOKEN.fullmatch(token):
            return OwnerState.DEAD
        path = self._folder / token
        try:
            file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return OwnerState.DEAD
        try:
            if file_lock.try_lock(file, is_shared=True):
                path.unlink(missing_ok=True)
                _trace.debug("owner is dead", owner=token)
                return OwnerState.DEAD
            return OwnerState.STOPPED if _is_stopped(file) else OwnerState.ALIVE
        finally:
            os.close(file)

    def remove_dead(self) -> None:
        """Remove the files of all processes that have ended."""
        with suppress(OSError):
            for name in os.listdir(self._folder):
                with suppress(OSError):
                    self.state(name)

    def close(self) -> None:
        """Remove the file of this process: it is responsible for nothing any more."""
        if self._own is not None:
            token, file = self._own
            self._own = None
            with suppress(OSError):
                (self._folder / token).unlink(missing_ok=True)
            os.close(file)

    def _create(self, token: str) -> tuple[str, int]:
        """Create and lock a file before it gets its name: the lock of a living owner is never found free.

        On a full disk the file stays empty. Then only a stopped process is not known as such.
        """
        unnamed = ensure_private(self._folder) / f"{token}.new"
        file = file_lock.open_lock_file(unnamed)
        file_lock.try_lock(file)
        process = this_process()
        with suppress(OSError):
            os.write(file, f"{process.pid} {process.start_time} {pid_namespace()}".encode())
        unnamed.rename(self._folder / token)
        return token, file


def _is_stopped(file: int) -> bool:
    found = _CONTENT.fullmatch(os.pread(file, _MOST_CONTENT, 0).decode(errors="replace"))
    if found is None or found[3] != pid_namespace():
        return False
    stat = find_stat(PROC, int(found[1]))
    return stat is not None and stat.start_time == int(found[2]) and stat.is_stopped
