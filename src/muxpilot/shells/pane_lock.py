"""Whose turn it is at a pane: of all muxpilots of this user, one at a time types commands there.

The lock ends with its owner, however that ends. Its file tells who had the last turn: where that was
another, the marks of the shell are not ours any more.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from muxpilot.errors import MuxpilotError
from muxpilot.processes.identity import answers
from muxpilot.tmux import Pane
from muxpilot.tmux.hosts.endpoint import our_folder

_NAME = "pane-"


class Turn:
    """`take`, and when nothing stands in the way `claim`; `give` when the next may come."""

    def __init__(self, socket: str, row: Pane) -> None:
        self.is_after_another = False
        self._me = secrets.token_hex(8).encode()
        self._last = b""
        self._file = -1
        self._path: Path | None = None
        with suppress(OSError, MuxpilotError):  # no folder for it: then nobody is kept waiting
            folder = our_folder()
            _sweep(folder)
            self._path = folder / _name(socket, row)

    def take(self) -> bool:
        """Whether it is ours now."""
        if self._file >= 0 or self._path is None:
            return True
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            return True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return False
        self._file = file
        self.is_after_another = os.pread(file, len(self._me), 0) != self._last
        return True

    def claim(self) -> None:
        """The shell has our marks now."""
        if self._file >= 0 and (self.is_after_another or self._last != self._me):
            os.pwrite(self._file, self._me, 0)
        self.is_after_another, self._last = False, self._me

    def give(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _name(socket: str, row: Pane) -> str:
    """A pane's process is its own; that of another host is known by the way there."""
    if row.far is None:
        return f"{_NAME}{row.pid}"
    return "far-" + blake2b(f"{socket}\n{row.id}".encode(errors="replace"), digest_size=8).hexdigest()


def _sweep(folder: Path) -> None:
    """The files of panes whose process is gone."""
    for file in folder.glob(f"{_NAME}*"):
        pid = file.name.removeprefix(_NAME)
        if pid.isdigit() and not answers(int(pid)):
            file.unlink(missing_ok=True)
