"""Start-up files that the shells of new panes read first. Another package provides them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from muxpilot.tmux.hosts.temporary_folder import TemporaryFolder
from muxpilot.tmux.ids import PaneId

_NONCES_KEPT = 4096


class ShellStartup(Protocol):
    """A folder of start-up files, one per shell, and the secret nonce that they share with us."""

    folder: Path
    nonce: str


class ShellStartups:
    """Creates start-up files, and remembers which nonce the shell of each pane has."""

    def __init__(self, provide: Callable[[Path], ShellStartup] | None) -> None:
        self._provide = provide
        self._nonces: dict[PaneId, str] = {}

    def create(self, folder: TemporaryFolder) -> ShellStartup | None:
        return self._provide(folder.unused_path("start")) if self._provide is not None else None

    def remember(self, pane: PaneId, startup: ShellStartup | None) -> None:
        """Note which shell was started in a pane; None for a program without start-up files."""
        self._nonces.pop(pane, None)
        if startup is not None:
            self._nonces[pane] = startup.nonce
        while len(self._nonces) > _NONCES_KEPT:
            del self._nonces[next(iter(self._nonces))]

    def find_nonce(self, pane: PaneId) -> str | None:
        """Return the nonce of the shell that was last started in a pane."""
        return self._nonces.get(pane)
