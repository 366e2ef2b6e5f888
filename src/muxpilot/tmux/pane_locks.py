"""Locks of panes: calls that use the same pane take turns, in the order in which they asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum

from muxpilot.tmux import PaneId, Tmux
from muxpilot.trace import area

trace = area("calls")


class PaneUse(Enum):
    """What a lock of a pane protects. Locks of different uses do not exclude each other."""

    JUDGE = "judge"  # policy looks at the input line: a short text must not overtake a long one
    TYPE = "type"  # one text reaches the pane as a whole
    DIALOGUE = "dialogue"  # one input for a REPL and its answer; keys of other tools may come between


@dataclass(slots=True)
class _PaneLock:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    holder: str = ""


class PaneLocks:
    """The locks of all panes of all servers. A lock exists only while a call holds it or waits for it."""

    def __init__(self) -> None:
        self._locks: dict[tuple[str, PaneId, PaneUse], _PaneLock] = {}

    def hold_for_typing(self, tmux: Tmux, pane: PaneId, *, holder: str) -> AbstractAsyncContextManager[None]:
        return self.hold(tmux, pane, PaneUse.TYPE, holder=holder)

    @asynccontextmanager
    async def hold(self, tmux: Tmux, pane: PaneId, use: PaneUse, *, holder: str) -> AsyncIterator[None]:
        """Hold the lock of a pane for one use. `holder` names the call or command in the log."""
        key = (tmux.socket, pane, use)
        entry = self._locks.setdefault(key, _PaneLock())
        entry.users += 1
        if trace.is_debug and entry.lock.locked():
            trace.debug(
                "waiting for call lock", holder=holder, pane=pane, use=use.value, held_by=entry.holder
            )
        try:
            async with entry.lock:
                entry.holder = holder
                trace.debug("call lock taken", holder=holder, pane=pane, use=use.value)
                try:
                    yield
                finally:
                    trace.debug("call lock released", holder=holder, pane=pane, use=use.value)
        finally:
            entry.users -= 1
            if not entry.users:
                del self._locks[key]
