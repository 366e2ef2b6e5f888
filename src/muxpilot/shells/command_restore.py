"""Commands from their records: as they were asked for, and with the output that the journal still holds."""

from __future__ import annotations

import asyncio
import time

from muxpilot.shells.binding_records import shell_of
from muxpilot.shells.command import Command
from muxpilot.shells.command_output import CommandOutput
from muxpilot.shells.command_records import REFUSED, EndedCommand, JournalPlace, RecordedCommand
from muxpilot.shells.osc133 import MarkScanner, ShellMark
from muxpilot.shells.output_reader import RecordedLine
from muxpilot.shells.shell_phases import Phase, ShellEvent
from muxpilot.shells.shell_stack import ShellStack
from muxpilot.tmux import PaneId, PaneStream
from muxpilot.tmux.streams.stream import NOT_HELD
from muxpilot.trace import Trace

NS_PER_S = 1_000_000_000
_CHUNK_BYTES = 1 << 18


def restore_command(
    recorded: RecordedCommand, socket: str, *, pane: PaneId, output_limit: int, trace: Trace
) -> Command:
    """Return a command as its record describes it, without its end and its output."""
    command = Command(
        socket,
        pane,
        recorded.text,
        CommandOutput(recorded.shape, output_limit),
        recorded.delay_s,
        id=recorded.id,
        is_cancelled=recorded.is_cancelled,
        is_admitted=True,
        is_restored=True,
        ran_in=shell_of(recorded),
        submitted_at=recorded.asked_ns / NS_PER_S,
    )
    command.trace = trace.child(command=command.id)
    if recorded.typed:
        command.mark_running()
    return command


def end_of(command: Command, place: JournalPlace) -> EndedCommand:
    """Return how a command has ended, for its record; `place` is where its output ends."""
    status = REFUSED if command.refusal is not None else command.status.value
    ended_ns = round((command.ended_at or time.monotonic()) * NS_PER_S)
    output_bytes = 0 if command.output.lost_bytes else command.output.size
    return EndedCommand(status, command.exit_code, command.reason, ended_ns, place, output_bytes)


class CommandReplay:
    """Reads the output of a command once more, from the line that was typed to its end."""

    def __init__(self, command: Command, recorded: RecordedCommand, stream: PaneStream) -> None:
        self._command = command
        self._stream = stream
        self._lines = [RecordedLine.of(command, typed) for typed in recorded.typed]
        self._begin = recorded.typed[0].place.offset
        end = recorded.end.place if recorded.end is not None else None
        is_known = end is not None and end.journal == stream.name
        self._end = min(stream.end, end.offset) if end is not None and is_known else stream.end
        self._missing_bytes = end.offset - self._end if end is not None and is_known else 0
        self._scanner = MarkScanner()
        self._stack = ShellStack(self._scanner, trace=command.trace)
        self._stack.restore(recorded.typed[0].stack)

    async def run(self) -> None:
        """Give the command its output. Other tasks run meanwhile."""
        offset = self._skip_lost(self._begin)
        while offset < self._end and not self._command.status.is_final:
            self._begin_lines(offset)
            limit = min([self._end, offset + _CHUNK_BYTES, *(line.offset for line in self._lines)])
            data = self._stream.read(offset, limit)
            self._feed(offset, data)
            # A part that the journal has lost meanwhile is skipped.
            offset = self._skip_lost(offset + len(data)) if data else self._skip_part(offset, limit)
            await asyncio.sleep(0)
        self._begin_lines(offset)
        if self._missing_bytes:
            self._command.output.note_lost(self._missing_bytes, NOT_HELD)
        self._settle()

    def _begin_lines(self, offset: int) -> None:
        while self._lines and self._lines[0].offset <= offset:
            self._lines.pop(0).begin(self._stack)

    def _feed(self, offset: int, data: bytes) -> None:
        for item in self._scanner.feed(data, offset):
            if isinstance(item, ShellMark):
                self._stack.feed_mark(item)
            else:
                self._stack.feed_text(item)

    def _skip_lost(self, offset: int) -> int:
        """Return the offset, or the oldest one that can be read: then the output is cut at its beginning."""
        start = self._stream.start
        return offset if offset >= start else self._skip_part(offset, start, self._stream.start_reason)

    def _skip_part(self, offset: int, after: int, reason: str = NOT_HELD) -> int:
        self._begin_lines(after)
        self._command.output.note_lost(after - offset, reason)
        for shell in self._stack.shells:
            if shell.command is self._command and not shell.line.is_capturing:
                # The beginning of the output is lost. What follows is output.
                self._stack.handle(shell, ShellEvent.START)
            elif shell.phase is not Phase.UNKNOWN and shell.command is None:
                self._stack.handle(shell, ShellEvent.GAP)
        return after

    def _settle(self) -> None:
        """End a command that is at its end, where a living muxpilot would have waited for what follows."""
        self._stack.feed_text(self._scanner.flush())
        for shell in list(self._stack.shells):
            self._stack.confirm_line(shell)
            if shell.phase is Phase.FINISHED:
                self._stack.handle(shell, ShellEvent.PROMPT_MISSING)

    @property
    def is_in_outermost(self) -> bool:
        """Return whether the command still runs in the outermost shell, as far as the output shows."""
        return bool(self._stack.shells) and self._stack.shells[0].command is self._command
