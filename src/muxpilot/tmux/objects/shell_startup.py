"""What the shells of new panes read first, where somebody provides it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from muxpilot.tmux.hosts.temporary_folder import Scratch
from muxpilot.tmux.ids import PaneId

_REMEMBERED = 4096


class Startup(Protocol):
    """A folder of start-up files by the shell's name, and the secret that they share with us."""

    folder: Path
    nonce: str


class Startups:
    def __init__(self, provide: Callable[[Path], Startup] | None) -> None:
        self._provide = provide
        self._nonces: dict[PaneId, str] = {}

    def new(self, scratch: Scratch) -> Startup | None:
        return self._provide(scratch.file("start")) if self._provide is not None else None

    def remember(self, pane: PaneId, startup: Startup | None) -> None:
        self._nonces.pop(pane, None)
        if startup is not None:
            self._nonces[pane] = startup.nonce
        while len(self._nonces) > _REMEMBERED:
            del self._nonces[next(iter(self._nonces))]

    def nonce_of(self, pane: PaneId) -> str | None:
        """The secret of the shell that was started in this pane last."""
        return self._nonces.get(pane)
