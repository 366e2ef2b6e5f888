"""Goes on where another muxpilot has stopped: its shells, its commands, and what it was about to type.

The records say which lines were typed, or were about to be, and how the shells stood at that time. From there
on the output is read again. What was typed is known by the ticket that tmux remembers.
"""

from __future__ import annotations

from muxpilot.journal.record_numbers import DAMAGES
from muxpilot.shells.command_records import RecordedCommand, TypingRecord
from muxpilot.shells.output_reader import RecordedLine, ShellOutputReader
from muxpilot.shells.pane_context import PaneContext
from muxpilot.shells.shell_phases import ShellEvent
from muxpilot.tmux.objects.typing_ticket import TicketRefused

_TRIES = 5


class PaneRecovery:
    """Restores the shells of a pane, and the commands that were typed into them."""

    def __init__(self, pane: PaneContext, reader: ShellOutputReader) -> None:
        self._pane = pane
        self._reader = reader

    async def restore(self) -> int | None:
        """Restore what the records tell. Return the offset from which on the output must be read.

        Return None if they tell nothing about this output.
        """
        pane, stream = self._pane, self._pane.stream
        assert stream is not None
        unfinished = pane.shared_commands.load()
        history = pane.shared_commands.log.history
        for nonce, inside in history.nonces.items():
            pane.expect_shell(nonce, inside=inside)
        if stream.nonce:
            pane.scanner.nonces.add(stream.nonce)
        if history.commands:
            pane.shared_commands.log.last_ticket = await pane.tmux.input.last_ticket(pane.pane)
        for recorded in pane.shared_commands.find_abandoned():
            if recorded.is_typed:
                await self.check_typed(recorded)
        begin = self._restore_stack([one for one in unfinished if one.is_typed])
        for recorded in unfinished:
            command = pane.shared_commands.known.get(recorded.id)
            for typed in recorded.typed:
                if command is not None and self._is_in_stream(typed):
                    self._reader.add_line(RecordedLine.of(command, typed))
        return begin

    def _restore_stack(self, typed: list[RecordedCommand]) -> int | None:
        """Restore the shells as they were before the oldest line that matters. Return its offset."""
        pane = self._pane
        lines = [one.typed[0] for one in typed]
        last = pane.shared_commands.log.history.last_typed
        lines = lines or ([last] if last is not None else [])
        here = [line for line in lines if self._is_in_stream(line)]
        if not here:
            return None
        first = min(here, key=lambda line: line.place.offset)
        try:
            pane.stack.restore(first.stack)
        except DAMAGES as error:
            pane.trace.warning("records of shells are damaged", error=error)
            return None
        pane.trace.debug("shells restored", shells=len(pane.stack.shells), at=first.place.offset)
        pane.activity.read_offset = -1  # no recorded line is due before the reading begins
        return first.place.offset

    def _is_in_stream(self, typed: TypingRecord) -> bool:
        """Return whether the place of a line is in the pane's output; not if the journal was cut."""
        stream = self._pane.stream
        return stream is not None and typed.place.journal == stream.name and typed.place.offset <= stream.end

    async def check_typed(self, recorded: RecordedCommand) -> None:
        """Find out whether the last line of a command was typed, and write down if it was not.

        Its owner may be dead and its request still on the way: the ticket that we use makes tmux refuse it.
        """
        log, typed = self._pane.shared_commands.log, recorded.typed[-1]
        for _ in range(_TRIES):
            log.last_ticket = await self._pane.tmux.input.last_ticket(self._pane.pane)
            if log.history.was_used(typed.ticket, last=log.last_ticket):
                return
            ticket = log.take_ticket("fence")
            try:
                await self._pane.tmux.input.use_ticket(self._pane.pane, ticket)
            except TicketRefused:
                continue
            log.last_ticket = ticket.name
            log.note_untyped(recorded.id, typed.ticket)
            self._forget_line(recorded)
            return

    async def may_be_typed(self) -> bool:
        """Return whether lines were typed that no muxpilot could write down: the disk was full."""
        log = self._pane.shared_commands.log
        log.last_ticket = await self._pane.tmux.input.last_ticket(self._pane.pane)
        self._pane.shared_commands.sync()  # a ticket is written down before it is used
        return not log.history.is_complete(log.last_ticket)

    def _forget_line(self, recorded: RecordedCommand) -> None:
        """Take a line that was never typed out of the stack again."""
        command = self._pane.shared_commands.known.get(recorded.id)
        if command is None:
            return
        self._pane.trace.debug("recorded line was not typed", command=recorded.id)
        if recorded.is_queued:
            command.requeue()
        for shell in self._pane.stack.shells:
            if shell.command is command:
                shell.command = None
                self._pane.stack.handle(shell, ShellEvent.LINE_NOT_TYPED)
