"""What the records of a pane say about its commands. No I/O happens here.

Every muxpilot of the user reads the same records (`journal/record_log.py`), in the same order, and comes to
the same history. What must be known after a SIGKILL is written before it is acted on:

    shell     before a shell gets a nonce for its marks
    ask       before a command is put into the queue; the order of these records is the order of the queue
    type      before a line of it is typed, with the name of the ticket that tmux will know if it was typed
    untyped   after tmux has said that the line of the last `type` record was not typed
    own       when another muxpilot takes the command over, because its owner is dead or stopped
    cancel    before a command is interrupted or taken out of the queue
    end       when the command has ended, with its result and the place of its output in the journal

A record that says nothing new is ignored: the same record may be written twice, and two muxpilots may see
the end of one command. Unknown kinds and damaged fields are ignored too: a later version may have written
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from muxpilot.records import record
from muxpilot.trace import Trace, area

Fields = Mapping[str, Any]
# The beginning and end of a part of a pane's output, as offsets in its journal.
OutputRange = tuple[int, int]


@record
class JournalPlace:
    """A place in the output of a pane: the name of the journal, and an offset in it."""

    journal: str
    offset: int


@record
class TypedLine:
    """A line that was typed, or was about to be: where the output stood, and the shells at that time."""

    ticket: str
    place: JournalPlace
    shell: str  # the nonce of the shell that it was typed into
    stack: Sequence[Fields]
    line: int = 0  # its number in a command of several lines
    is_last: bool = True


@record
class EndedCommand:
    """How a command ended, and which parts of the journal are its output."""

    status: str
    exit_code: int | None
    reason: str | None
    ended_ns: int
    journal: str
    ranges: Sequence[OutputRange]
    output_bytes: int = 0
    is_cut: bool = False  # bytes of the output were lost before they were in the journal


@dataclass(slots=True, eq=False)
class RecordedCommand:
    """A command as the records tell it."""

    id: str
    text: str
    owner: str
    asked_ns: int
    height: int
    delay_s: float = 0.0
    target: str | None = None  # the nonce of the only shell that it may run in
    typed: TypedLine | None = None
    end: EndedCommand | None = None
    is_cancelled: bool = False
    options: Fields = field(default_factory=dict)

    @property
    def is_queued(self) -> bool:
        return self.typed is None and self.end is None

    @property
    def is_typed(self) -> bool:
        return self.typed is not None and self.end is None


class CommandHistory:
    """The commands and shells of one pane, from its records."""

    def __init__(self, trace: Trace | None = None) -> None:
        self.commands: dict[str, RecordedCommand] = {}
        self.nonces: dict[str, None] = {}  # in the order in which shells got them
        self.last_typed: TypedLine | None = None
        self._trace = trace or area("shells")

    def apply(self, fields: Fields) -> RecordedCommand | None:
        """Take a record. Return the command that it changed, or None if it said nothing new."""
        action = self._ACTIONS.get(str(fields.get("t")))
        try:
            return action(self, fields) if action is not None else None
        except (KeyError, TypeError, ValueError) as error:
            self._trace.warning("record ignored: its fields are damaged", kind=fields.get("t"), error=error)
            return None

    @property
    def unfinished(self) -> Iterator[RecordedCommand]:
        """Yield the commands that have not ended, in the order of asking."""
        return (command for command in self.commands.values() if command.end is None)

    def queued_before(self, command_id: str) -> RecordedCommand | None:
        """Return the first command that was asked for before this one and was not typed yet."""
        for command in self.commands.values():
            if command.id == command_id:
                return None
            if command.is_queued:
                return command
        return None

    def forget_old(self, *, most: int, before_ns: int) -> list[str]:
        """Forget ended commands that are too many, or ended before a time. Return their ids."""
        ended = [command for command in self.commands.values() if command.end is not None]
        surplus = max(0, len(ended) - most)
        old = [
            command.id
            for at, command in enumerate(ended)
            if at < surplus or (command.end is not None and command.end.ended_ns < before_ns)
        ]
        for command_id in old:
            del self.commands[command_id]
        return old

    def _on_shell(self, fields: Fields) -> RecordedCommand | None:
        self.nonces[str(fields["nonce"])] = None
        return None

    def _on_ask(self, fields: Fields) -> RecordedCommand | None:
        if fields["id"] in self.commands:
            return None
        command = RecordedCommand(
            id=str(fields["id"]),
            text=str(fields["text"]),
            owner=str(fields["owner"]),
            asked_ns=int(fields["asked"]),
            height=int(fields["height"]),
            delay_s=float(fields.get("delay", 0.0)),
            target=fields.get("target"),
            options=dict(fields.get("options", {})),
        )
        self.commands[command.id] = command
        return command

    def _on_type(self, fields: Fields) -> RecordedCommand | None:
        command = self._find_unfinished(fields)
        typed = TypedLine(
            ticket=str(fields["ticket"]),
            place=JournalPlace(str(fields["journal"]), int(fields["offset"])),
            shell=str(fields["shell"]),
            stack=list(fields["stack"]),
            line=int(fields.get("line", 0)),
            is_last=bool(fields.get("last", True)),
        )
        self.last_typed = typed
        if command is None or command.typed == typed:
            return None
        command.typed, command.owner = typed, str(fields["owner"])
        return command

    def _on_untyped(self, fields: Fields) -> RecordedCommand | None:
        command = self._find_unfinished(fields)
        if command is None or command.typed is None or command.typed.ticket != fields["ticket"]:
            return None
        command.typed = None
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
        exit_code = fields["exit"]
        command.end = EndedCommand(
            status=str(fields["status"]),
            exit_code=None if exit_code is None else int(exit_code),
            reason=fields.get("reason"),
            ended_ns=int(fields["ended"]),
            journal=str(fields.get("journal", "")),
            ranges=[(int(start), int(end)) for start, end in fields.get("ranges", ())],
            output_bytes=int(fields.get("bytes", 0)),
            is_cut=bool(fields.get("cut", False)),
        )
        return command

    def _find_unfinished(self, fields: Fields) -> RecordedCommand | None:
        command = self.commands.get(fields["id"])
        return command if command is not None and command.end is None else None

    _ACTIONS: ClassVar[Mapping[str, Callable[[CommandHistory, Fields], RecordedCommand | None]]] = {
        "shell": _on_shell,
        "ask": _on_ask,
        "type": _on_type,
        "untyped": _on_untyped,
        "own": _on_own,
        "cancel": _on_cancel,
        "end": _on_end,
    }


def shell_record(nonce: str) -> Fields:
    return {"t": "shell", "nonce": nonce}


def ask_record(command: RecordedCommand) -> Fields:
    return {
        "t": "ask",
        "id": command.id,
        "text": command.text,
        "owner": command.owner,
        "asked": command.asked_ns,
        "height": command.height,
        "delay": command.delay_s,
        "target": command.target,
        "options": dict(command.options),
    }


def type_record(command_id: str, owner: str, *, typed: TypedLine) -> Fields:
    return {
        "t": "type",
        "id": command_id,
        "owner": owner,
        "ticket": typed.ticket,
        "journal": typed.place.journal,
        "offset": typed.place.offset,
        "shell": typed.shell,
        "stack": list(typed.stack),
        "line": typed.line,
        "last": typed.is_last,
    }


def untyped_record(command_id: str, ticket: str) -> Fields:
    return {"t": "untyped", "id": command_id, "ticket": ticket}


def own_record(command_id: str, owner: str) -> Fields:
    return {"t": "own", "id": command_id, "owner": owner}


def cancel_record(command_id: str) -> Fields:
    return {"t": "cancel", "id": command_id}


def end_record(command_id: str, end: EndedCommand) -> Fields:
    return {
        "t": "end",
        "id": command_id,
        "status": end.status,
        "exit": end.exit_code,
        "reason": end.reason,
        "ended": end.ended_ns,
        "journal": end.journal,
        "ranges": [list(part) for part in end.ranges],
        "bytes": end.output_bytes,
        "cut": end.is_cut,
    }
