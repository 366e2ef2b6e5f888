"""The records of one pane: written by the muxpilot that acts, read by all of them.

Where records cannot be kept (the setting `tracking.journal` is off, the disk is full, the folder is gone) the
log works in memory: commands run as before, but no other muxpilot knows them. `failure` then says why.
Records that are there are read all the same.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from pathlib import Path

from muxpilot.journal.owners import Owners, OwnerState
from muxpilot.journal.record_log import RecordLog
from muxpilot.records import record
from muxpilot.shells import command_records as records
from muxpilot.shells.command_records import (
    CommandHistory,
    EndedCommand,
    Fields,
    JournalPlace,
    RecordedCommand,
    TypingRecord,
)
from muxpilot.tmux.objects.typing_ticket import TypingTicket
from muxpilot.trace import Trace

RECORDS_FILE = "records"
_NS_PER_S = 1_000_000_000
_SURPLUS = 100
_FORGET_EVERY_S = 10.0


@record
class RecordLimits:
    """How many commands that have ended are kept for each pane, and how long."""

    most: int = 1000
    kept_s: float = 240 * 60.0


class PaneLog:
    """The history of one pane, and how to add to it. `folder` is None where nothing is kept on disk.

    Without `owners` nothing is written: others would take what this process writes for that of a dead one.
    """

    def __init__(
        self, folder: Path | None, owners: Owners | None, trace: Trace, *, limits: RecordLimits | None = None
    ) -> None:
        self.history = CommandHistory(trace)
        self._limits = limits or RecordLimits()
        self._forget_at = 0.0
        self.failure: str | None = None
        self.last_ticket = ""  # the last ticket that tmux is known to have accepted
        self.own_token = owners.own_token if owners is not None else "memory"
        self._owners = owners
        self._news: list[Fields] = []
        self._rotate_at = 0  # bytes; a smaller file is not put aside
        self._trace = trace
        self._log = RecordLog(folder / RECORDS_FILE, trace=trace) if folder is not None else None

    @property
    def is_kept(self) -> bool:
        """Return whether records are kept where other muxpilots read them."""
        return self._log is not None and self._owners is not None

    @property
    def read_failure(self) -> str | None:
        """Return why records that are there cannot be read."""
        return self._log.read_failure if self._log is not None else None

    def take_news(self) -> Sequence[Fields]:
        """Return what other muxpilots have written since the last call; the history has it already."""
        self._sync()
        return self.take_known_news()

    def take_known_news(self) -> Sequence[Fields]:
        """Return the same, as far as it was read together with a record of ours."""
        if not self._news:
            return ()
        news, self._news = self._news, []
        return news

    def _sync(self) -> None:
        if self._log is None:
            return
        try:
            new = self._log.read_new()
        except OSError as error:
            self._note_failure(error)
            return
        if new:
            self._apply(new)
            self._news += new

    def _apply(self, new: Sequence[Fields]) -> None:
        for fields in new:
            changed = self.history.apply(fields)
            if changed is not None and changed.end is not None:
                self._note_used_tickets(changed)
        # To look for old commands after each record would cost more than to write the record.
        if len(self.history.commands) > self._limits.most + _SURPLUS or time.monotonic() > self._forget_at:
            self._forget_old()

    def _note_used_tickets(self, command: RecordedCommand) -> None:
        """Take note that the lines of a command were typed: it has run to its end."""
        if command.end is not None and command.end.exit_code is not None:
            for line in command.typed:
                if line.ticket.after == self.last_ticket:
                    self.last_ticket = line.ticket.name

    def _forget_old(self) -> None:
        self._forget_at = time.monotonic() + _FORGET_EVERY_S
        before_ns = time.monotonic_ns() - round(self._limits.kept_s * _NS_PER_S)
        self.history.forget_old(most=self._limits.most, before_ns=before_ns)

    def is_own(self, command: RecordedCommand) -> bool:
        return command.owner == self.own_token

    def owner_state(self, command: RecordedCommand) -> OwnerState:
        """Return what the muxpilot does that is responsible for a command."""
        if self.is_own(command) or self._owners is None:
            return OwnerState.ALIVE
        return self._owners.state(command.owner)

    def add_shell(self, nonce: str, *, inside: str = "") -> None:
        """Write down that a shell gets our marks; `inside` is the nonce of the shell outside of it."""
        self._append(records.shell_record(nonce, inside))

    def ask(self, command: RecordedCommand) -> None:
        """Put a command into the history, behind all that were asked for before."""
        self._append(records.ask_record(command))

    def begin_typing(
        self,
        command_id: str,
        place: JournalPlace,
        *,
        shell: str,
        stack: Sequence[Fields],
        text: str = "",
        line: int = 0,
        pane_pid: int = 0,
    ) -> TypingRecord:
        """Write down that a line is about to be typed. Return it, with its ticket."""
        ticket = self._new_ticket(command_id)
        typed = TypingRecord(ticket, place, shell, stack, text, line, pane_pid)
        self._append(records.type_record(command_id, self.own_token, typed=typed))
        return typed

    def take_ticket(self, purpose: str) -> TypingTicket:
        """Write down that a ticket is about to be used for something that is no line of a command."""
        ticket = self._new_ticket(purpose)
        self._append(records.ticket_record(ticket))
        return ticket

    def note_untyped(self, command_id: str, ticket: TypingTicket) -> None:
        """Write down that a line was not typed: the command is queued again."""
        self._append(records.untyped_record(command_id, ticket))

    def _new_ticket(self, name: str) -> TypingTicket:
        return TypingTicket(f"{name}.{secrets.token_hex(4)}", self.last_ticket)

    def take_over(self, command: RecordedCommand) -> None:
        """Make this muxpilot responsible for a command."""
        self._trace.debug("command taken over", command=command.id, owner=command.owner)
        self._append(records.own_record(command.id, self.own_token))

    def cancel(self, command_id: str) -> None:
        self._append(records.cancel_record(command_id))

    def end(self, command_id: str, end: EndedCommand) -> None:
        self._append(records.end_record(command_id, end))

    def close(self) -> None:
        if self._log is not None:
            self._log.close()

    def _append(self, fields: Fields) -> None:
        """Write a record, then take it into the history with all that were written before it."""
        if self._write(fields):
            self._apply([fields])
        else:
            self._sync()
        if self._log is not None and self._log.is_large:
            try:
                self._rotate()
            except OSError as error:
                self._note_failure(error)

    def _write(self, fields: Fields) -> bool:
        """Write a record. Return False if others were written before it: then all of them must be read."""
        if self._log is None or self._owners is None:
            return True
        try:
            is_next = self._log.append(fields)
        except OSError as error:
            self._note_failure(error)
            return True
        self.failure = None
        return is_next

    def _rotate(self) -> None:
        """Begin a new file when this one is large, and write what is kept into it once more.

        Where most of the file is kept anyway, because commands are long, it would be as large again.
        """
        if self._log is None or self._log.size < self._rotate_at:
            return
        self._sync()
        self._rotate_at = 2 * self.history.text_size
        if self._log.size < self._rotate_at or not self._log.put_aside():
            return
        for nonce, inside in self.history.nonces.items():
            self._log.append(records.shell_record(nonce, inside))
        for command in self.history.commands.values():
            for fields in _records_of(command):
                self._log.append(fields)
        for ticket in self.history.tickets:
            self._log.append(records.ticket_record(ticket))

    def _note_failure(self, error: OSError) -> None:
        if self.failure is None:
            self._trace.warning("records of the pane cannot be kept", error=error)
        self.failure = (
            f"muxpilot could not write it down ({error.strerror or 'the disk or the quota is full'})"
        )


def _records_of(command: RecordedCommand) -> list[Fields]:
    found = [records.ask_record(command)]
    found += [records.type_record(command.id, command.owner, typed=line) for line in command.typed]
    if command.is_cancelled:
        found.append(records.cancel_record(command.id))
    if command.end is not None:
        found.append(records.end_record(command.id, command.end))
    return found
