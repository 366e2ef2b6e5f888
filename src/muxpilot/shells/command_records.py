"""What the records of a pane say about its commands. No I/O happens here.

Every muxpilot of the user reads the same records (`journal/record_log.py`), in the same order, and comes to
the same history. What must be known after a SIGKILL is written before it is acted on:

    shell     before a shell gets a nonce for its marks
    ask       before a command is put into the queue; the order of these records is the order of the queue
    type      before a line of it is typed, with its ticket, which tmux remembers if the line was typed
    ticket    before a ticket is used for anything else
    untyped   after tmux has said that the line of a `type` record was not typed
    own       when another muxpilot takes the command over, because its owner is dead or stopped
    cancel    before a command is interrupted or taken out of the queue
    end       when the command has ended, with its result and the place of its output in the journal

The order of the records decides which of two muxpilots types. A `type` record is void if its writer is not
responsible for the command any more, if a command that was asked for earlier is still queued, or if a line of
another unfinished command was written down before it for the same turn, that is, after the same ticket. Its
writer sees that before it sends anything to tmux.

tmux remembers only the last ticket that was used (`tmux/objects/typing_ticket.py`). Each ticket names the one
before it, which its writer knew to be used. So the records tell which tickets were used, and which were not.
A ticket that tmux remembers and no record names is one that could not be written down.

A record that says nothing new is ignored: the same record may be written twice, and two muxpilots may see
the end of one command. Unknown kinds and damaged fields are ignored too: a later version may have written
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

from muxpilot.journal.record_history import RecordActions, apply_record, choose_forgotten
from muxpilot.journal.record_numbers import read_seconds, read_whole
from muxpilot.records import mutable_object, record
from muxpilot.shells.command_phases import CommandStatus
from muxpilot.terminal.shape import WIDEST, ScreenShape
from muxpilot.terminal.width import EmojiCells
from muxpilot.tmux.objects.typing_ticket import TypingTicket
from muxpilot.trace import Trace, area

Fields = Mapping[str, Any]

# The end of a command that was never typed, because its caller did not want to wait. It is forgotten.
REFUSED = "refused"
_FINAL_STATUSES = frozenset(status.value for status in CommandStatus if status.is_final)
# The newest tickets are remembered. More than one matters only where several muxpilots type at once.
_MOST_TICKETS = 200
_MOST_ROWS = 10_000
_LONGEST_DELAY_S = 3600.0


@record
class JournalPlace:
    """A place in the output of a pane: the name of the journal, and an offset in it."""

    journal: str
    offset: int


@record
class TypingRecord:
    """A line that was typed, or was about to be: where the output stood, and the shells at that time."""

    ticket: TypingTicket
    place: JournalPlace
    shell: str  # the nonce of the shell that it was typed into
    stack: Sequence[Fields]
    text: str = ""  # what is typed; empty if that is the whole command
    line: int = 0  # its number in a command that is typed line by line
    pane_pid: int = 0  # the process of the pane; it changes when the pane is respawned


@record
class EndedCommand:
    """How a command ended, and where the journal stood then."""

    status: str
    exit_code: int | None
    reason: str | None
    ended_ns: int
    place: JournalPlace
    output_bytes: int = 0  # the length of its output; 0 if that is not known


@mutable_object
class RecordedCommand:
    """A command as the records tell it."""

    id: str
    text: str
    owner: str
    asked_ns: int
    shape: ScreenShape
    delay_s: float = 0.0
    binding: Fields | None = None  # which shell it is meant for
    typed: list[TypingRecord] = field(default_factory=list)
    end: EndedCommand | None = None
    is_cancelled: bool = False

    @property
    def is_queued(self) -> bool:
        return not self.typed and self.end is None

    @property
    def is_typed(self) -> bool:
        return bool(self.typed) and self.end is None


class CommandHistory:
    """The commands and shells of one pane, from its records."""

    def __init__(self, trace: Trace | None = None) -> None:
        self.commands: dict[str, RecordedCommand] = {}
        self._unfinished: dict[str, RecordedCommand] = {}
        # The nonces of shells that were given our marks, each with that of the shell outside of it, if any.
        self.nonces: dict[str, str] = {}
        self.last_typed: TypingRecord | None = None
        self._last_asked_ns = 0
        self._tickets: dict[str, str] = {}  # each with the one that was used before it
        self._used_tickets: dict[str, None] = {}
        self._turns: dict[str, str] = {}  # the command that is typed after a ticket, by that ticket
        self._trace = trace or area("shells")

    def apply(self, fields: Fields) -> RecordedCommand | None:
        """Take a record. Return the command that it changed, or None if it said nothing new."""
        return apply_record(self, self._ACTIONS, fields, trace=self._trace)

    @property
    def text_size(self) -> int:
        """Return about how many bytes the texts of all commands have in the records."""
        return sum(len(command.text) for command in self.commands.values())

    def list_unfinished(self) -> list[RecordedCommand]:
        """Return the commands that have not ended, in the order of asking."""
        return list(self._unfinished.values())

    def queued_before(self, command_id: str) -> RecordedCommand | None:
        """Return the first command that was asked for before this one and was not typed yet."""
        for command in self._unfinished.values():
            if command.id == command_id:
                return None
            if command.is_queued:
                return command
        return None

    def was_used(self, ticket: TypingTicket, *, last: str) -> bool:
        """Return whether a ticket was used, if `last` is the one that tmux remembers.

        Where tickets are missing in the records, say that it was used: no line is typed twice.
        """
        if ticket.name in self._used_tickets:
            return True
        for _ in range(len(self._tickets) + 1):
            if last in (ticket.name, ticket.after):
                return last == ticket.name
            if last not in self._tickets:
                break
            last = self._tickets[last]
        return True

    @property
    def tickets(self) -> list[TypingTicket]:
        """Return the newest tickets, in the order of writing."""
        return [TypingTicket(name, after) for name, after in self._tickets.items()]

    def is_complete(self, last: str) -> bool:
        """Return whether `last`, the ticket that tmux remembers, was written down before it was used."""
        return not last or last in self._tickets

    def forget_old(self, *, most: int, before_ns: int) -> list[str]:
        """Forget ended commands that are too many, or ended before a time. Return their ids."""
        ended = ((row.id, row.end.ended_ns) for row in self.commands.values() if row.end is not None)
        old = choose_forgotten(ended, most=most, before_ns=before_ns)
        for command_id in old:
            del self.commands[command_id]
        return old

    def _on_shell(self, fields: Fields) -> RecordedCommand | None:
        self.nonces[str(fields["nonce"])] = str(fields.get("inside", ""))
        return None

    def _on_ask(self, fields: Fields) -> RecordedCommand | None:
        if fields["id"] in self.commands:
            return None
        # The order of the records counts. Two muxpilots may have looked at the clock in another order.
        self._last_asked_ns = max(read_whole(fields["asked"]), self._last_asked_ns + 1)
        command = RecordedCommand(
            id=str(fields["id"]),
            text=str(fields["text"]),
            owner=str(fields["owner"]),
            asked_ns=self._last_asked_ns,
            shape=_read_shape(fields),
            delay_s=read_seconds(fields.get("delay", 0.0), most=_LONGEST_DELAY_S),
            binding=fields.get("binding"),
        )
        self.commands[command.id] = self._unfinished[command.id] = command
        return command

    def _on_type(self, fields: Fields) -> RecordedCommand | None:
        ticket = self._on_ticket_of(fields)
        typed = TypingRecord(
            ticket,
            JournalPlace(str(fields["journal"]), read_whole(fields["offset"])),
            shell=str(fields["shell"]),
            stack=[dict(values) for values in fields["stack"]],
            text=str(fields.get("text", "")),
            line=read_whole(fields.get("line", 0)),
            pane_pid=read_whole(fields.get("pane_pid", 0)),
        )
        command = self._find_unfinished(fields)
        if command is None or any(known.ticket == ticket for known in command.typed):
            return None
        if fields["owner"] != command.owner or self._is_turn_taken(ticket, command):
            return None  # another muxpilot took over, or was first: this line is not typed
        self._turns[ticket.after] = command.id
        self.last_typed = typed
        # A line that is typed again was not typed before.
        command.typed = [known for known in command.typed if known.line < typed.line] + [typed]
        return command

    def _is_turn_taken(self, ticket: TypingTicket, command: RecordedCommand) -> bool:
        """Return whether it is the turn of another command, by the order of the records."""
        if command.is_queued and self.queued_before(command.id) is not None:
            return True
        other = self._turns.get(ticket.after, command.id)
        return other != command.id and other in self._unfinished

    def _on_ticket(self, fields: Fields) -> RecordedCommand | None:
        self._on_ticket_of(fields)
        return None

    def _on_ticket_of(self, fields: Fields) -> TypingTicket:
        ticket = TypingTicket(str(fields["ticket"]), str(fields["after"]))
        self._tickets[ticket.name] = ticket.after
        self._used_tickets[ticket.after] = None
        for kept in (self._tickets, self._used_tickets, self._turns):
            if len(kept) > _MOST_TICKETS:
                del kept[next(iter(kept))]
        return ticket

    def _on_untyped(self, fields: Fields) -> RecordedCommand | None:
        command = self._find_unfinished(fields)
        if command is None or not command.typed or command.typed[-1].ticket.name != fields["ticket"]:
            return None
        self._turns.pop(command.typed.pop().ticket.after, None)
        return command

    def _on_own(self, fields: Fields) -> RecordedCommand | None:
        command = self._find_unfinished(fields)
        if command is None or command.owner == fields["owner"]:
            return None
        command.owner = str(fields["owner"])
        return command

    def _on_cancel(self, fields: Fields) -> RecordedCommand | None:
        command = self._find_unfinished(fields)
        if command is None or command.is_cancelled:
            return None
        command.is_cancelled = True
        return command

    def _on_end(self, fields: Fields) -> RecordedCommand | None:
        command = self._find_unfinished(fields)
        if command is None:
            return None
        if fields["status"] == REFUSED:
            del self.commands[command.id], self._unfinished[command.id]
            return command
        exit_code, reason = fields["exit"], fields.get("reason")
        is_known = fields["status"] in _FINAL_STATUSES
        command.end = EndedCommand(
            status=str(fields["status"]) if is_known else CommandStatus.LOST.value,
            exit_code=None if exit_code is None else read_whole(exit_code),
            reason=None if reason is None else str(reason),
            ended_ns=read_whole(fields["ended"]),
            place=JournalPlace(str(fields["journal"]), read_whole(fields["offset"])),
            output_bytes=read_whole(fields.get("bytes", 0)),  # older records do not have it
        )
        del self._unfinished[command.id]
        return command

    def _find_unfinished(self, fields: Fields) -> RecordedCommand | None:
        return self._unfinished.get(fields["id"])

    _ACTIONS: ClassVar[RecordActions[CommandHistory, RecordedCommand]] = {
        "shell": _on_shell,
        "ask": _on_ask,
        "type": _on_type,
        "ticket": _on_ticket,
        "untyped": _on_untyped,
        "own": _on_own,
        "cancel": _on_cancel,
        "end": _on_end,
    }


def shell_record(nonce: str, inside: str) -> Fields:
    return {"t": "shell", "nonce": nonce, "inside": inside}


def _read_shape(fields: Fields) -> ScreenShape:
    """Return the shape of the pane when a command was asked for. Older records have only its height."""
    rows = read_whole(fields["height"], most=_MOST_ROWS)
    columns = read_whole(fields.get("columns", WIDEST), most=WIDEST)
    emoji, repeats_all = fields.get("rules", (EmojiCells.PAIRED, True))
    return ScreenShape(columns, rows, EmojiCells(emoji), repeats_all=bool(repeats_all))


def ask_record(command: RecordedCommand) -> Fields:
    """Return the record of a command that is asked for."""
    return {
        "t": "ask",
        "id": command.id,
        "text": command.text,
        "owner": command.owner,
        "asked": command.asked_ns,
        "height": command.shape.rows,
        "columns": command.shape.columns,
        "rules": [int(command.shape.emoji), command.shape.repeats_all],
        "delay": command.delay_s,
        "binding": command.binding,
    }


def type_record(command_id: str, owner: str, *, typed: TypingRecord) -> Fields:
    """Return the record of a line that is about to be typed."""
    return {
        **ticket_record(typed.ticket),
        "t": "type",
        "id": command_id,
        "owner": owner,
        "journal": typed.place.journal,
        "offset": typed.place.offset,
        "shell": typed.shell,
        "stack": list(typed.stack),
        "text": typed.text,
        "line": typed.line,
        "pane_pid": typed.pane_pid,
    }


def ticket_record(ticket: TypingTicket) -> Fields:
    return {"t": "ticket", "ticket": ticket.name, "after": ticket.after}


def untyped_record(command_id: str, ticket: TypingTicket) -> Fields:
    return {"t": "untyped", "id": command_id, "ticket": ticket.name}


def own_record(command_id: str, owner: str) -> Fields:
    return {"t": "own", "id": command_id, "owner": owner}


def cancel_record(command_id: str) -> Fields:
    return {"t": "cancel", "id": command_id}


def end_record(command_id: str, end: EndedCommand) -> Fields:
    """Return the record of a command that has ended."""
    return {
        "t": "end",
        "id": command_id,
        "status": end.status,
        "exit": end.exit_code,
        "reason": end.reason,
        "ended": end.ended_ns,
        "journal": end.place.journal,
        "offset": end.place.offset,
        "bytes": end.output_bytes,
    }
