"""Locks of panes: calls that use the same pane take turns, in the order in which they asked."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import field

from muxpilot.records import FastEnum, mutable_record
from muxpilot.tmux import PaneId, Tmux
from muxpilot.trace import area

trace = area("calls")


class PaneUse(FastEnum):
    """What a lock of a pane protects. Locks of different uses do not exclude each other."""

    JUDGE = "judge"  # policy looks at the input line: a short text must not overtake a long one
    SUBMIT = "submit"  # a command gets its place in the queue: a later one must not be put before it
    TYPE = "type"  # one text reaches the pane as a whole
    DIALOGUE = "dialogue"  # one input for a REPL and its answer; keys of other tools may come between


LockKey = tuple[str, PaneId, PaneUse]


@mutable_record
class _PaneLock:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    holder: str = ""


class PaneLocks:
    """The locks of all panes of all servers. A lock exists only while a call holds it or waits for it."""

    def __init__(self) -> None:
        self._locks: dict[LockKey, _PaneLock] = {}

    def hold_for_submission(
        self, tmux: Tmux, pane: PaneId, *, holder: str
    ) -> AbstractAsyncContextManager[None]:
        return self.hold(tmux, pane, PaneUse.SUBMIT, holder=holder)

    def hold_for_typing(self, tmux: Tmux, pane: PaneId, *, holder: str) -> AbstractAsyncContextManager[None]:
        return self.hold(tmux, pane, PaneUse.TYPE, holder=holder)

    def hold(
        self, tmux: Tmux, pane: PaneId, use: PaneUse, *, holder: str
    ) -> AbstractAsyncContextManager[None]:
        """Hold the lock of a pane for one use. `holder` names the call or command in the log."""
        return _Hold(self._locks, (tmux.socket, pane, use), holder)


class _Hold:
    """One call's turn with a lock. A class, because `asynccontextmanager` costs several times as much."""

    __slots__ = ("_entry", "_holder", "_key", "_locks")

    def __init__(self, locks: dict[LockKey, _PaneLock], key: LockKey, holder: str) -> None:
        self._locks = locks
        self._key = key
        self._holder = holder

    async def __aenter__(self) -> None:
        entry = self._entry = self._locks.setdefault(self._key, _PaneLock())
        entry.users += 1
        if entry.lock.locked():
            self._log("waiting for call lock", held_by=entry.holder)
        try:
            await entry.lock.acquire()
        except BaseException:
            self._leave()
            raise
        entry.holder = self._holder
        self._log("call lock taken")

    async def __aexit__(self, *_: object) -> None:
        self._log("call lock released")
        self._entry.lock.release()
        self._leave()

    def _leave(self) -> None:
        self._entry.users -= 1
        if not self._entry.users:
            del self._locks[self._key]

    def _log(self, event: str, **fields: object) -> None:
        if trace.is_debug:
            _, pane, use = self._key
            trace.debug(event, holder=self._holder, pane=pane, use=use.value, **fields)
