"""Reads the output of a pane, and gives its text and marks to the shell stack.

Lines that another muxpilot types, and lines that were typed before this muxpilot began, are in the records,
with the offset of the output at which they were typed. They are put into the stack when the reading comes to
that offset. So every muxpilot that reads the same output and the same records sees the same commands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from muxpilot.errors import MuxpilotError
from muxpilot.records import record
from muxpilot.shells.command import Command
from muxpilot.shells.command_records import TypingRecord
from muxpilot.shells.nested_shell import NestedShell
from muxpilot.shells.osc133 import MarkKind, ShellMark
from muxpilot.shells.pane_context import PaneContext
from muxpilot.shells.shell_phases import Phase, ShellEvent
from muxpilot.shells.shell_stack import ShellStack
from muxpilot.shells.type_command import lines_for
from muxpilot.tasks import TaskSet
from muxpilot.tmux import Data, End, Gap, PaneStream

_BUG = "muxpilot failed because of a bug; see its log on stderr."


@record
class RecordedLine:
    """A line of a command that was typed into a shell when the output stood at an offset."""

    offset: int
    command: Command
    shell: str  # the nonce of the shell
    text: str
    line: int  # its number in a command that is typed line by line

    @classmethod
    def of(cls, command: Command, typed: TypingRecord) -> RecordedLine:
        """Return the line of a record."""
        return cls(typed.place.offset, command, typed.shell, typed.text or command.text, typed.line)

    def begin(self, stack: ShellStack) -> None:
        """Put the line into the stack, as if we had typed it now."""
        shell = stack.find(self.shell)
        if shell is None or self.command.status.is_final:
            self.command.trace.debug("recorded line has no shell any more", offset=self.offset)
            return
        shell.command = self.command
        stack.begin_line(shell, self.text, began_at=self.command.submitted_at)
        shell.line.untyped_lines = self._find_untyped_lines(shell) or None
        self.command.trace.debug("recorded line begins", offset=self.offset, length=len(self.text))

    def _find_untyped_lines(self, shell: NestedShell) -> list[str]:
        """Return the lines of the same command that are typed after this one."""
        lines = lines_for(shell.kind, self.command.text)
        is_one_of_them = self.line < len(lines) and lines[self.line] == self.text
        return lines[self.line + 1 :] if is_one_of_them else []


class ShellOutputReader:
    """Follows one pane until it ends.

    `before_data` is called before new output is looked at: what it was typed for is written down before.
    `on_end` is called with the end of the stream. `on_failure` is called if reading fails.
    """

    def __init__(
        self,
        pane: PaneContext,
        *,
        before_data: Callable[[], None],
        on_end: Callable[[End], Awaitable[None]],
        on_failure: Callable[[], None],
    ) -> None:
        self._pane = pane
        self._before_data = before_data
        self._on_end = on_end
        self._on_failure = on_failure
        self._lines: list[RecordedLine] = []
        self._tasks = TaskSet(pane.trace)

    @property
    def _stack(self) -> ShellStack:
        return self._pane.stack

    def start(self, stream: PaneStream, begin: int) -> None:
        """Read the stream from an offset on."""
        self._pane.activity.read_offset = begin
        self._tasks.start(self._read(stream, begin), name="read stream")

    def add_line(self, line: RecordedLine) -> None:
        """Put a recorded line into the stack when the reading comes to its offset."""
        self._lines = sorted([*self._lines, line], key=lambda known: known.offset)
        self._begin_lines(self._pane.activity.read_offset)

    @property
    def has_lines_ahead(self) -> bool:
        """Return whether a line was typed at an offset that the reading has not come to yet."""
        return bool(self._lines)

    async def close(self) -> None:
        await self._tasks.close()

    async def _read(self, stream: PaneStream, begin: int) -> None:
        """Read the stream until its end. If reading fails, end all that depends on it."""
        try:
            async for event in stream.follow(begin):
                if isinstance(event, Data):
                    async with self._pane.reading:
                        self._before_data()
                        self._handle_data(event)
                elif isinstance(event, Gap):
                    self._handle_gap(event)
                elif isinstance(event, End):
                    self._before_data()
                    self._begin_lines(event.offset)
                    self._stack.feed_text(self._pane.scanner.flush())
                    await self._on_end(event)
                self._pane.notify()
        except Exception:
            self._on_failure()
            raise

    def _handle_data(self, event: Data) -> None:
        self._pane.activity.restart_silence()
        offset, data = event.offset, event.data
        while self._lines and self._lines[0].offset < offset + len(data):
            size = max(0, self._lines[0].offset - offset)
            self._feed(offset, data[:size])
            offset, data = offset + size, data[size:]
            self._begin_lines(offset)
        self._feed(offset, data)

    def _begin_lines(self, offset: int) -> None:
        """Begin the recorded lines that were typed at this offset or before."""
        while self._lines and self._lines[0].offset <= offset:
            self._lines.pop(0).begin(self._stack)
            self._pane.activity.restart_silence()

    def _feed(self, offset: int, data: bytes) -> None:
        self._pane.activity.read_offset = offset + len(data)
        is_prompt_due = False
        for item in self._pane.scanner.feed(data, offset):
            if not isinstance(item, ShellMark):
                self._stack.feed_text(item)
            elif self._stack.feed_mark(item):
                is_prompt_due = item.kind is MarkKind.STATUS
                self._after_mark(item)
        if is_prompt_due:  # most often the prompt comes with the same bytes
            self._expect_prompt()

    def _handle_gap(self, event: Gap) -> None:
        self._pane.trace.debug("gap in the stream", lost=event.lost_bytes, reason=event.reason)
        self._begin_lines(event.offset)
        for shell in self._stack.shells:
            if shell.command is not None:
                shell.command.output.note_lost(event.lost_bytes or 1, event.reason)
                if shell.phase is Phase.TYPED:
                    # The echo and the start of the output are lost. What follows is output.
                    self._stack.handle(shell, ShellEvent.START)
            self._stack.handle(shell, ShellEvent.GAP)

    def _after_mark(self, mark: ShellMark) -> None:
        shell = self._stack.innermost
        if shell is None:
            return
        if mark.kind is MarkKind.PROMPT and shell.line.is_unconfirmed:
            self._tasks.start(_end_on_failure(self._confirm_line(shell), shell), name="confirm line")
        elif mark.kind is MarkKind.LOADED:
            self._pane.note_image(shell)

    async def _confirm_line(self, shell: NestedShell) -> None:
        """Confirm that the command was ours if nothing follows its prompt.

        Then the shell waits there, and has read all that was typed.
        """
        activity = self._pane.activity
        await asyncio.sleep(self._pane.timing.confirm_s)
        while shell.line.is_unconfirmed and shell.phase is Phase.TYPED and activity.end_reason is None:
            offset = activity.read_offset
            await self._wait_until_all_read()
            if activity.read_offset == offset:
                self._stack.confirm_line(shell)
                self._pane.notify()
                return

    def _expect_prompt(self) -> None:
        """End the command after a while even if its prompt has lost its mark."""
        shell = self._stack.innermost
        if shell is None:
            return
        serial = shell.order.serial

        def check() -> None:
            """Finish the command if no prompt has come, and no later command has ended meanwhile."""
            is_late = shell.phase is Phase.FINISHED and not shell.line.untyped_lines
            if shell.order.serial != serial:
                return
            if is_late and self._pane.activity.end_reason is None:
                work = _end_on_failure(self._finish_without_prompt(shell), shell)
                self._tasks.start(work, name="finish without prompt")

        asyncio.get_running_loop().call_later(self._pane.timing.prompt_after_status_s, check)

    async def _finish_without_prompt(self, shell: NestedShell) -> None:
        """End a command whose prompt takes its time, or has lost its mark, once the shell reads."""
        await self._wait_until_all_read()
        if shell.phase is Phase.FINISHED and self._stack.handle(shell, ShellEvent.PROMPT_MISSING):
            self._pane.notify()

    async def _wait_until_all_read(self) -> None:
        """Wait until the shell reads, and all that it printed has arrived."""
        with suppress(MuxpilotError):  # the next request to the pane meets the same error
            await self._pane.wait_until_shell_reads()
            await self._pane.sync_with_tmux()


async def _end_on_failure(work: Awaitable[None], shell: NestedShell) -> None:
    """Do the work. If it fails because of a bug, end the shell's command: callers wait for it."""
    try:
        await work
    except Exception:
        if shell.command is not None:
            shell.command.mark_lost(_BUG, cause="bug")
        raise
