"""One command: its text, its status, its output and why it waits."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from enum import Enum

from muxpilot.shells.command_output import CommandOutput
from muxpilot.tasks import ChangeSignal
from muxpilot.tmux import PaneId
from muxpilot.trace import Trace, area


class CommandStatus(Enum):
    """How far a command is; the values are words of the answers of tools."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"

    @property
    def is_final(self) -> bool:
        return self not in (CommandStatus.QUEUED, CommandStatus.RUNNING)


@dataclass(slots=True, eq=False)
class Command:
    """A command that a caller has submitted to a pane, from the queue to its end."""

    socket: str
    pane: PaneId
    text: str
    output: CommandOutput
    delay_s: float = 0.0  # between characters
    id: str = field(default_factory=lambda: f"cmd-{secrets.token_hex(5)}")
    status: CommandStatus = CommandStatus.QUEUED
    exit_code: int | None = None
    reason: str | None = None
    waiting_for: str | None = None  # line, password, key, shell, or the rest of the command
    is_cancelled: bool = False
    is_tracked: bool = True
    untyped_note: str | None = None  # says which lines of it were never typed
    submitted_at: float = field(default_factory=time.monotonic)
    ended_at: float | None = None
    trace: Trace = field(default_factory=lambda: area("shells"))
    _signal: ChangeSignal = field(default_factory=ChangeSignal)

    @property
    def elapsed_s(self) -> float:
        return (self.ended_at or time.monotonic()) - self.submitted_at

    @property
    def changes(self) -> int:
        """Return how often anything about the command has changed."""
        return self._signal.count

    def notify_change(self) -> None:
        self._signal.notify()

    async def wait_for_change(self, timeout_s: float, *, since: int | None = None) -> None:
        """Wait for the next change or the timeout; return at once if `changes` is no longer `since`."""
        await self._signal.wait(timeout_s, since=since)

    async def wait_for_end(self, timeout_s: float) -> None:
        """Wait until the command has ended, or for the timeout."""
        await self._signal.wait_until(lambda: self.status.is_final, timeout_s)

    def mark_running(self) -> None:
        """Note that the command is about to be typed."""
        if self.status.is_final:
            return
        self.trace.debug("command begins", queued_ms=round(self.elapsed_s * 1000))
        self.status = CommandStatus.RUNNING
        self.reason = None
        self.notify_change()

    def set_waiting(self, what: str | None, reason: str | None) -> None:
        """Note what the command waits for, and why; None for a command that does not wait."""
        if not self.status.is_final and (self.waiting_for, self.reason) != (what, reason):
            if what != self.waiting_for:
                self.trace.debug("command waits" if what else "command waits no more", what=what)
            self.waiting_for, self.reason = what, reason
            self.notify_change()

    def finish(self, exit_code: int, reason: str | None = None) -> None:
        """End the command with its exit code."""
        failed = CommandStatus.CANCELLED if self.is_cancelled else CommandStatus.FAILED
        self._end(CommandStatus.COMPLETED if exit_code == 0 else failed, exit_code, reason)

    def mark_lost(self, reason: str, *, cause: str | None = None) -> None:
        """End the command without an exit code, because how it ended is not known.

        `cause` is an error's code or a fixed word. The log has it instead of a `reason` that quotes an error.
        """
        status = CommandStatus.CANCELLED if self.is_cancelled else CommandStatus.LOST
        self._end(status, None, reason, cause=cause)

    def _end(
        self, status: CommandStatus, exit_code: int | None, reason: str | None, *, cause: str | None = None
    ) -> None:
        if self.status.is_final:
            return
        self.output.finish()
        self.status, self.exit_code = status, exit_code
        self.reason = " ".join(filter(None, (reason, self.untyped_note))) or None
        self.waiting_for = None
        self.ended_at = time.monotonic()
        if self.trace.is_debug:
            self.trace.debug(
                "command ended",
                status=status.value,
                exit_code=exit_code,
                ms=round(self.elapsed_s * 1000),
                output_bytes=self.output.size,
                has_untyped_lines=self.untyped_note is not None,
                reason=cause or reason,
            )
        self.notify_change()
