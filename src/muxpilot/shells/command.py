"""One command: what was asked, how far it is, and what it said."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum

from muxpilot.shells.command_output import Output
from muxpilot.tmux import PaneId


class Status(Enum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"

    @property
    def is_final(self) -> bool:
        return self not in (Status.QUEUED, Status.RUNNING)


@dataclass(slots=True, eq=False)
class Command:
    """`changes` grows whenever anything about it changes."""

    socket: str
    pane: PaneId
    text: str
    output: Output
    delay_s: float = 0.0
    id: str = field(default_factory=lambda: f"cmd-{secrets.token_hex(5)}")
    status: Status = Status.QUEUED
    exit_code: int | None = None
    reason: str | None = None
    waiting_for: str | None = None  # line, password, key, shell, or the rest of the command
    is_cancelled: bool = False
    is_tracked: bool = True
    left_over: str | None = None  # what of it was never typed, in words
    asked: float = field(default_factory=time.monotonic)
    ended: float | None = None
    changes: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def elapsed_s(self) -> float:
        return (self.ended or time.monotonic()) - self.asked

    def say(self) -> None:
        self.changes += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def change(self, timeout_s: float, *, since: int | None = None) -> None:
        """Until something about it changes, or until then; at once if `changes` is not `since` any more."""
        if since is not None and since != self.changes:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()

    async def end(self, timeout_s: float) -> None:
        """Until it has ended, or until then."""
        deadline = time.monotonic() + timeout_s
        while not self.status.is_final and (left_s := deadline - time.monotonic()) > 0:
            await self.change(left_s)

    def begin(self) -> None:
        if self.status.is_final:
            return
        self.status = Status.RUNNING
        self.reason = None
        self.say()

    def waits(self, what: str | None, reason: str | None) -> None:
        if not self.status.is_final and (self.waiting_for, self.reason) != (what, reason):
            self.waiting_for, self.reason = what, reason
            self.say()

    def finish(self, exit_code: int, reason: str | None = None) -> None:
        done = Status.CANCELLED if self.is_cancelled else Status.FAILED
        self._end(Status.COMPLETED if exit_code == 0 else done, exit_code, reason)

    def lose(self, reason: str) -> None:
        self._end(Status.CANCELLED if self.is_cancelled else Status.LOST, None, reason)

    def _end(self, status: Status, exit_code: int | None, reason: str | None) -> None:
        if self.status.is_final:
            return
        self.output.finish()
        words = " ".join(filter(None, (reason, self.left_over))) or None
        self.status, self.exit_code, self.reason = status, exit_code, words
        self.waiting_for = None
        self.ended = time.monotonic()
        self.say()
