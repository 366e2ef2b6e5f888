"""One command: its text, its status, its output and why it waits."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import field
from typing import Protocol

from muxpilot.errors import Refused
from muxpilot.records import mutable_object, record
from muxpilot.shells.command_output import CommandOutput
from muxpilot.shells.command_phases import TRANSITIONS, CommandAction, CommandEvent, CommandStatus
from muxpilot.shells.command_records import EndedCommand
from muxpilot.tasks import ChangeSignal
from muxpilot.tmux import PaneId
from muxpilot.trace import Trace, area

_trace = area("shells")


@record
class ShellId:
    """Identifies a shell of a pane; `depth` is its place in the stack.

    A shell that loads our marks again has another nonce, and the same process.
    """

    nonce: str
    pid: int
    depth: int

    def is_same(self, other: ShellId) -> bool:
        """Return whether both are the same shell."""
        is_same_process = self.pid == other.pid > 0 and self.depth == other.depth
        return is_same_process or self.nonce == other.nonce


class ShellBinding(Protocol):
    """Says which shell a command is meant for; `shell_binding` has the kinds."""

    def find_mismatch(self, shell: ShellId | None) -> str | None:
        """Return why the command cannot run in the shell that stands there; None if it can, or may later."""
        ...


_EVENT_OF_STATUS = {
    "completed": CommandEvent.SUCCEED,
    "failed": CommandEvent.FAIL,
    "stopped": CommandEvent.STOP,
    "cancelled": CommandEvent.INTERRUPT,
    "lost": CommandEvent.LOSE,
}
_NEEDS_START = ("completed", "failed", "stopped")


@mutable_object
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
    # line, password, key, shell, pager, editor, or the rest of the command
    waiting_for: str | None = None
    is_cancelled: bool = False
    is_tracked: bool = True
    may_queue: bool = False  # the caller wants it to wait for whatever is in front
    is_admitted: bool = False  # it stays in the queue, whatever is found in front of it
    refusal: Refused | None = None  # why it was taken out of the queue again: the pane is occupied
    binding: ShellBinding | None = None  # the shell that it must run in
    ran_in: ShellId | None = None  # the shell that it was typed into
    opened_shell: bool = False  # it stood at the prompt of a shell inside it
    is_end_told: bool = False  # an answer has told how it ended
    end_offset: int | None = None  # in the pane's stream, after its last byte
    end_journal: str = ""  # the name of that stream, if a record has told the end
    untyped_note: str | None = None  # says which lines of it were never typed
    record_note: str = ""  # says that it could not be written down
    is_foreign: bool = False  # another muxpilot is responsible for it
    is_restored: bool = False  # it comes from the records: no caller of this muxpilot asked for it
    on_end: Callable[[Command], None] | None = None
    # Returns when output before an offset was printed, or when the pane ended (None), if that is known.
    find_end_time: Callable[[int | None], float | None] | None = None
    submitted_at: float = field(default_factory=time.monotonic)
    ended_at: float | None = None
    trace: Trace = _trace
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
        self._apply(CommandEvent.BEGIN)

    def requeue(self) -> None:
        """Note that the first line was not typed: the command waits for its turn again."""
        self._apply(CommandEvent.REQUEUE)

    def set_waiting(self, what: str | None, reason: str | None) -> None:
        """Note what the command waits for, and why; None for a command that does not wait."""
        if not self.status.is_final and (self.waiting_for, self.reason) != (what, reason):
            if what != self.waiting_for:
                self.trace.debug("command waits" if what else "command waits no more", what=what)
            self.waiting_for, self.reason = what, reason
            self.opened_shell = self.opened_shell or what == "shell"
            self.notify_change()

    def finish(self, exit_code: int, reason: str | None = None) -> None:
        """End the command with its exit code."""
        event = CommandEvent.INTERRUPT if self.is_cancelled else CommandEvent.FAIL
        self._apply(CommandEvent.SUCCEED if exit_code == 0 else event, exit_code=exit_code, reason=reason)

    def mark_stopped(self) -> None:
        """End the command as one whose job was stopped and is still alive. Its shell is free again."""
        reason = "It was stopped (C-z) and is still alive. Resume it with the command fg, or end it."
        self._apply(CommandEvent.STOP, reason=reason)

    def mark_lost(self, reason: str, *, cause: str | None = None) -> None:
        """End the command without an exit code, because how it ended is not known.

        `cause` is an error's code or a fixed word. The log has it instead of a `reason` that quotes an error.
        """
        by_caller = CommandEvent.INTERRUPT
        if self.status is CommandStatus.QUEUED:
            by_caller = CommandEvent.WITHDRAW
        self._apply(by_caller if self.is_cancelled else CommandEvent.LOSE, reason=reason, cause=cause)

    def end_as_recorded(self, end: EndedCommand) -> None:
        """End the command as another muxpilot has written it down."""
        if self.status is CommandStatus.QUEUED and end.status in _NEEDS_START:
            self._apply(CommandEvent.BEGIN)
        event = _EVENT_OF_STATUS.get(end.status, CommandEvent.LOSE)
        if self.status is CommandStatus.QUEUED and event is CommandEvent.INTERRUPT:
            event = CommandEvent.WITHDRAW
        self.end_offset, self.end_journal = end.place.offset, end.place.journal
        self._apply(event, exit_code=end.exit_code, reason=end.reason, cause="recorded")
        self.ended_at = end.ended_ns / 1e9

    def refuse(self, refusal: Refused) -> None:
        """Take the command back before it was typed: the pane is occupied, and the caller does not wait."""
        self.refusal = refusal
        self._apply(CommandEvent.WITHDRAW, reason=refusal.what, cause=refusal.code)

    def _apply(
        self,
        event: CommandEvent,
        *,
        exit_code: int | None = None,
        reason: str | None = None,
        cause: str | None = None,
    ) -> None:
        """Do what the table of `command_phases` says, and log it. `cause` is logged instead of `reason`."""
        transition = TRANSITIONS.get((self.status, event))
        if transition is None:
            return
        before, self.status = self.status, transition.status
        if transition.action is CommandAction.END:
            self._end(exit_code, reason)
        else:
            self.reason = None
        if self.trace.is_debug:
            self.trace.debug(
                "command ended" if self.status.is_final else "command begins",
                before=before.value,
                by=event.name,
                status=self.status.value,
                exit_code=exit_code,
                ms=round(self.elapsed_s * 1000),
                output_bytes=self.output.size,
                has_untyped_lines=self.untyped_note is not None,
                reason=cause or reason,
            )
        self.notify_change()
        if transition.action is CommandAction.END and self.on_end is not None:
            self.on_end(self)

    def _end(self, exit_code: int | None, reason: str | None) -> None:
        self.output.finish()
        self.exit_code = exit_code
        self.reason = " ".join(filter(None, (reason, self.untyped_note))) or None
        self.waiting_for = None
        if self.ran_in is not None:
            self.binding = None  # it may hold the command before, and that the one before it
        self.ended_at = time.monotonic()
        # A restored command may have ended long before this muxpilot looks.
        known = self.find_end_time(self.end_offset) if self.find_end_time is not None else None
        if known is not None:
            self.ended_at = min(self.ended_at, max(known, self.submitted_at))
