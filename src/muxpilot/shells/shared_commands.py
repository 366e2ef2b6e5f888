"""The commands of one pane, whichever muxpilot was asked for them: their records, and who is responsible.

Each muxpilot follows the same output and the same records, so each knows every command of the panes that it
has open. One of them is responsible for a command: it types it and writes down its end. If that one is dead,
or has been stopped for a while, another takes over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Protocol

from muxpilot.journal.owners import OwnerState
from muxpilot.shells.binding_records import load_binding, save_binding, shell_of
from muxpilot.shells.command import Command
from muxpilot.shells.command_phases import CommandStatus
from muxpilot.shells.command_records import (
    REFUSED,
    EndedCommand,
    Fields,
    JournalPlace,
    RecordedCommand,
    TypingRecord,
)
from muxpilot.shells.command_restore import NS_PER_S, end_of, restore_command
from muxpilot.shells.pane_context import PaneContext
from muxpilot.shells.pane_log import PaneLog


class CommandListener(Protocol):
    """What the owner of the shared commands does with news."""

    def on_command(self, command: Command) -> None:
        """Take note of a command that another muxpilot was asked for."""

    def on_typed(self, command: Command, typed: TypingRecord) -> None:
        """Follow a line that another muxpilot types."""

    def on_taken(self, command: Command) -> None:
        """Forget a command of ours that another muxpilot has taken over."""

    def on_refused(self, command: Command) -> None:
        """Forget a command that its caller did not want to wait for."""


class SharedCommands:
    """The commands of one pane by id, and their records."""

    def __init__(
        self, pane: PaneContext, log: PaneLog, listener: CommandListener, *, output_limit: int
    ) -> None:
        self.known: dict[str, Command] = {}
        self.log = log
        self.is_closing = False  # from now on, ends are those of this process only, and are not written down
        self._pane = pane
        self._listener = listener
        self._output_limit = output_limit
        self._stopped_since: dict[str, float] = {}
        self._unwritten_ends: dict[str, EndedCommand] = {}

    def add(self, command: Command) -> None:
        """Write down a command that a caller of this muxpilot asks for, and take responsibility for it."""
        self.write_ends()
        shells = [shell.id for shell in self._pane.stack.shells]
        self.known[command.id] = command
        command.on_end = self._on_end
        self.log.ask(
            RecordedCommand(
                command.id,
                command.text,
                self.log.own_token,
                asked_ns=round(command.submitted_at * NS_PER_S),
                shape=self._pane.row.shape,
                delay_s=command.delay_s,
                binding=save_binding(command.binding, shells),
            )
        )
        self._handle_news(self.log.take_known_news())
        recorded = self.log.history.commands.get(command.id)
        if recorded is not None:
            command.submitted_at = recorded.asked_ns / NS_PER_S
        if self.log.failure is not None:
            command.record_note = f"{self.log.failure}: other muxpilots do not know it."

    def load(self) -> Sequence[RecordedCommand]:
        """Read all records. Return the commands that have not ended, in the order of asking."""
        self.log.take_news()
        unfinished = self.log.history.list_unfinished()
        for recorded in unfinished:
            self._add_recorded(recorded)
        return unfinished

    def sync(self) -> None:
        """Take note of what other muxpilots have written."""
        self._handle_news(self.log.take_news())

    def _handle_news(self, news: Sequence[Fields]) -> None:
        for fields in news:
            action = self._ACTIONS.get(str(fields.get("t")))
            if action is not None:
                action(self, fields)

    def is_own(self, command: Command) -> bool:
        recorded = self.log.history.commands.get(command.id)
        return recorded is None or self.log.is_own(recorded)

    def is_queued(self, command: Command) -> bool:
        """Return whether no muxpilot has typed a line of a command."""
        recorded = self.log.history.commands.get(command.id)
        return recorded is not None and recorded.is_queued

    def find_queued_before(self, command: Command) -> RecordedCommand | None:
        """Return a command of another muxpilot that was asked for earlier and was not typed yet."""
        recorded = self.log.history.queued_before(command.id)
        return recorded if recorded is not None and not self.log.is_own(recorded) else None

    def find_abandoned(self) -> list[RecordedCommand]:
        """Return the unfinished commands whose muxpilot is dead, or has been stopped for a while."""
        others = [one for one in self.log.history.list_unfinished() if not self.log.is_own(one)]
        return [recorded for recorded in others if self._is_abandoned(recorded)]

    def list_running_foreign(self) -> list[Command]:
        """Return the commands of other muxpilots that run, in the order of asking."""
        unfinished = (self.known.get(recorded.id) for recorded in self.log.history.list_unfinished())
        return [
            command
            for command in unfinished
            if command is not None and command.is_foreign and command.status is CommandStatus.RUNNING
        ]

    def is_unseen(self, command: Command) -> bool:
        """Return whether nothing shows how a command that we took over ends: it is about to be lost."""
        is_taken = command.is_restored and not command.is_foreign and command.status is CommandStatus.RUNNING
        return is_taken and all(shell.command is not command for shell in self._pane.stack.shells)

    @property
    def has_foreign(self) -> bool:
        """Return whether another muxpilot is responsible for a command that has not ended."""
        return any(not self.log.is_own(one) for one in self.log.history.list_unfinished())

    def take_over(self, recorded: RecordedCommand) -> Command | None:
        """Take responsibility for a command. Return it; None if it has ended, or another was faster."""
        self.log.take_over(recorded)
        self.sync()
        if recorded.end is not None or not self.log.is_own(recorded):
            return None
        command = self.known.get(recorded.id) or self._add_recorded(recorded)
        command.is_foreign = False
        if command.status.is_final:  # its end was seen, but not by its owner
            self._on_end(command)
            return None
        return command

    def _restore(self, recorded: RecordedCommand) -> Command:
        command = restore_command(
            recorded,
            self._pane.tmux.socket,
            pane=self._pane.pane,
            output_limit=self._output_limit,
            trace=self._pane.trace,
        )
        if self._pane.stream is not None:
            command.find_end_time = self._pane.stream.written_at
        return command

    def claim(self, command: Command) -> None:
        """Take responsibility for a command of another muxpilot that is about to be cancelled here."""
        recorded = self.log.history.commands.get(command.id)
        if recorded is not None and not self.log.is_own(recorded):
            self.log.cancel(command.id)
            self.log.take_over(recorded)
            command.is_foreign = False

    def begin_typing(self, command: Command, shell: str, *, text: str, line: int) -> TypingRecord | None:
        """Write down that a line of a command is about to be typed.

        Return None if another muxpilot took the command over before: then it must not be typed here.
        """
        self.write_ends()
        typed = self.log.begin_typing(
            command.id,
            self._place(),
            shell=shell,
            stack=self._pane.stack.snapshot(),
            text="" if text == command.text else text,
            line=line,
            pane_pid=self._pane.row.pid,
        )
        recorded = self.log.history.commands.get(command.id)
        is_void = recorded is not None and typed.ticket not in [line.ticket for line in recorded.typed]
        return None if is_void else typed

    def _add_recorded(self, recorded: RecordedCommand) -> Command:
        """Add a command of which only the record is known here."""
        command = self._restore(recorded)
        command.is_foreign = not self.log.is_own(recorded)
        command.on_end = self._on_end
        self.known[command.id] = command
        command.binding = load_binding(recorded.binding, self._find)
        self._listener.on_command(command)
        return command

    def _find(self, command_id: str) -> Command | None:
        """Return a command by its id, also one that has ended before we looked."""
        recorded = self.log.history.commands.get(command_id)
        if command_id in self.known or recorded is None:
            return self.known.get(command_id)
        command = self._restore(recorded)
        if recorded.end is not None:
            command.end_as_recorded(recorded.end)
        return command

    def _is_abandoned(self, recorded: RecordedCommand) -> bool:
        state = self.log.owner_state(recorded)
        if state is not OwnerState.STOPPED:
            self._stopped_since.pop(recorded.owner, None)
            return state is OwnerState.DEAD
        # A muxpilot that waits for its debugger for a moment keeps its turn.
        since = self._stopped_since.setdefault(recorded.owner, time.monotonic())
        return time.monotonic() - since >= self._pane.timing.stopped_owner_s

    def _on_end(self, command: Command) -> None:
        """Write down how a command of ours has ended."""
        recorded = self.log.history.commands.get(command.id)
        if self.is_closing or recorded is None or recorded.end is not None or not self.log.is_own(recorded):
            return
        place = self._place()
        if command.end_offset is None:
            self.log.end(command.id, end_of(command, place))
            return
        # The output shows this end to every muxpilot. So the caller is answered first.
        self._unwritten_ends[command.id] = end_of(command, JournalPlace(place.journal, command.end_offset))
        asyncio.get_running_loop().call_soon(self.write_ends)

    def write_ends(self) -> None:
        """Write down the ends of commands whose callers were answered first."""
        while self._unwritten_ends:
            command_id, end = self._unwritten_ends.popitem()
            self.log.end(command_id, end)

    def release(self) -> None:
        """Forget the commands when the pane is closed. The registry keeps them for longer."""
        for command in self.known.values():
            command.on_end = command.find_end_time = None
        self.known.clear()

    def _place(self) -> JournalPlace:
        stream = self._pane.stream
        return JournalPlace(stream.name if stream is not None else "", self._pane.activity.read_offset)

    def _on_shell(self, fields: Fields) -> None:
        self._pane.expect_shell(str(fields.get("nonce")), inside=str(fields.get("inside", "")))

    def _on_ask(self, fields: Fields) -> None:
        recorded = self.log.history.commands.get(str(fields.get("id")))
        if recorded is not None and recorded.id not in self.known and recorded.end is None:
            self._add_recorded(recorded)

    def _on_type(self, fields: Fields) -> None:
        recorded = self.log.history.commands.get(str(fields.get("id")))
        command = self.known.get(str(fields.get("id")))
        if command is None or recorded is None or self.log.is_own(recorded) or not recorded.typed:
            return
        command.ran_in = shell_of(recorded)
        command.mark_running()
        self._listener.on_typed(command, recorded.typed[-1])

    def _on_own(self, fields: Fields) -> None:
        command = self.known.get(str(fields.get("id")))
        if command is not None and not command.is_foreign and not self.is_own(command):
            command.is_foreign = True
            command.trace.debug("another muxpilot has taken the command over")
            self._listener.on_taken(command)

    def _on_cancel(self, fields: Fields) -> None:
        command = self.known.get(str(fields.get("id")))
        if command is not None:
            command.is_cancelled = True

    def _on_recorded_end(self, fields: Fields) -> None:
        recorded = self.log.history.commands.get(str(fields.get("id")))
        command = self.known.get(str(fields.get("id")))
        if command is not None and command.is_foreign and fields.get("status") == REFUSED:
            del self.known[command.id]
            self._listener.on_refused(command)
        if command is None or command.status.is_final or recorded is None or recorded.end is None:
            return
        is_typed = command.status is not CommandStatus.QUEUED
        if is_typed and self._is_behind(recorded.end):
            return  # our reader has not come to its end yet; the marks there end it
        command.end_as_recorded(recorded.end)

    def _is_behind(self, end: EndedCommand) -> bool:
        """Return whether a part of the output that comes before this end has not been read yet."""
        here = self._place()
        return here.journal == end.place.journal and here.offset < end.place.offset

    _ACTIONS: ClassVar[Mapping[str, Callable[[SharedCommands, Fields], None]]] = {
        "shell": _on_shell,
        "ask": _on_ask,
        "type": _on_type,
        "own": _on_own,
        "cancel": _on_cancel,
        "end": _on_recorded_end,
    }
