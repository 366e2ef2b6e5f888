"""Runs one command in one shell, from the typing to its end or to a shell that it has opened.

The shell's phases are TYPED, RUNNING, FINISHED, PROMPT. Instead of the next phase there may come: a
continuation prompt (the next line is typed, or the command is incomplete), nothing (fish keeps a line that
it does not understand), silence (perhaps the command waits for input), or the end of the pane.
"""

from __future__ import annotations

import os
import re
import time

from muxpilot.errors import Refused, Unavailable
from muxpilot.processes.state import ForegroundState
from muxpilot.shells.command import Command
from muxpilot.shells.command_phases import CommandStatus
from muxpilot.shells.loader import MarkLoader
from muxpilot.shells.nested_shell import NestedShell
from muxpilot.shells.occupant import (
    describe_full_screen,
    describe_input,
    find_input_kind,
    is_remote_shell_prompt,
)
from muxpilot.shells.pane_context import PaneContext
from muxpilot.shells.shell_phases import Phase, ShellEvent
from muxpilot.shells.type_command import lines_for, needs_file, type_line, type_slowly
from muxpilot.shells.unseen_end import ENDED_UNSEEN, drop_at_prompt, end_unseen, is_in_gap, may_ask_for_end
from muxpilot.terminal.escapes import DIM_BYTES
from muxpilot.terminal.prompt_signs import looks_like_question
from muxpilot.terminal.text import render_lines
from muxpilot.tmux.objects.capture import CursorLine
from muxpilot.tmux.objects.typing_ticket import TicketRefused, TypingTicket

_COMPARED_BYTES = 4096
_NOT_FOUND_STATUS = 127
_KEY_TRIES = 3
_INCOMPLETE = "The command is not complete: the shell waits for the rest of it, such as a closing quote."
# Commands that can remove our hooks from bash and zsh.
_CHANGES_HOOKS = re.compile(r"PROMPT_COMMAND|precmd_functions")


class CommandRun:
    """A command while it runs in a shell."""

    def __init__(self, pane: PaneContext, shell: NestedShell, command: Command) -> None:
        self._pane = pane
        self._shell = shell
        self._command = command
        self._typed_at = 0  # the stream's end when the line was typed

    async def run(self) -> None:
        """Type the command and wait until it has ended, or has opened a shell that takes the next one."""
        command = self._command
        file = self._write_to_file() if needs_file(self._shell.kind, command.text) else None
        text = command.text if file is None else f" {self._shell.kind.source} {file}"
        try:
            lines = lines_for(self._shell.kind, text)
            command.mark_running()
            await self._type_lines(lines, first=0)
        finally:
            self._shell.line.untyped_lines = None
            if file is not None:
                os.unlink(file)

    async def resume(self) -> None:
        """Continue a command that another muxpilot has typed, and type the lines that it has not."""
        try:
            left = self._shell.line.untyped_lines or []
            if not await self._wait_for_next_line(is_last=not left):
                first = len(lines_for(self._shell.kind, self._command.text)) - len(left)
                await self._type_lines(left, first=first)
        finally:
            self._shell.line.untyped_lines = None

    async def watch(self) -> None:
        """Find out what a command of another muxpilot waits for, until it has ended or opened a shell."""
        await self._wait_for_next_line(is_last=True)

    @property
    def is_over(self) -> bool:
        return self._command.status.is_final

    async def _type_lines(self, lines: list[str], *, first: int) -> None:
        """Type lines of the command, each when the shell takes it. `first` is the number of the first."""
        command, number = self._command, first
        while lines and not command.status.is_final:
            line, *lines = lines
            self._shell.line.untyped_lines = lines
            if not await self._type_line(line, number) or await self._wait_for_next_line(is_last=not lines):
                break
            number += 1
        if lines and command.status is CommandStatus.RUNNING:
            command.untyped_note = f"{len(lines)} lines after it were not typed."

    def _write_to_file(self) -> str:
        """Write the command to a file for the shell to read, because its prompt cannot take the text."""
        if len(self._pane.stack.shells) > 1 or self._pane.is_remote:
            raise Refused(
                f"{self._shell.kind.name} cannot be given this text at its prompt.",
                "Leave out tabs and lines above 4,000 bytes, or put it into a file there.",
            )
        folder = self._pane.tmux.connection.temporary_folder
        return str(folder.write_private(folder.unused_path("c"), self._command.text + "\n"))

    async def _type_line(self, line: str, number: int) -> bool:
        """Type a line. Return False if it was not typed: the command was cancelled or taken over."""
        pane, command, log = self._pane, self._command, self._pane.shared_commands.log
        async with pane.hold_typing(command.id):
            if command.status.is_final or command.is_cancelled:
                command.mark_lost("The command was cancelled before it was typed.")
                return False
            stream = pane.tmux.streams.find_stream(pane.pane)
            self._typed_at = stream.end if stream is not None else 0
            began_at = time.monotonic()
            async with pane.reading:
                typed = pane.shared_commands.begin_typing(command, self._shell.nonce, text=line, line=number)
                if typed is None:
                    log.last_ticket = await pane.tmux.input.last_ticket(pane.pane)
                    self._leave_to_other(number)
                    return False
                try:
                    await self._send_line(line, typed.ticket)
                except TicketRefused as refused:
                    log.last_ticket = refused.last
                    log.note_untyped(command.id, typed.ticket)
                    self._leave_to_other(number)
                    return False
                log.last_ticket = typed.ticket.name
                self._shell.command = command
                pane.stack.begin_line(self._shell, line, began_at=began_at)
            if command.delay_s:
                await type_slowly(pane.tmux, pane.pane, self._shell.kind, line, delay_s=command.delay_s)
        command.trace.debug("line typed", length=len(line))
        pane.activity.restart_silence()
        return True

    async def _send_line(self, line: str, ticket: TypingTicket) -> None:
        """Type a line with one request; one that is typed slowly is only announced."""
        pane = self._pane
        if self._command.delay_s:
            await pane.tmux.input.use_ticket(pane.pane, ticket)
        else:
            await type_line(pane.tmux, pane.pane, self._shell.kind, line, ticket=ticket)

    def _leave_to_other(self, number: int) -> None:
        """Note that a line was not typed here, because another muxpilot has typed or has the command now."""
        command, shared = self._command, self._pane.shared_commands
        command.trace.debug("line not typed: another muxpilot has typed or took over", line=number)
        shared.sync()
        if shared.is_queued(command):
            command.requeue()
        elif number > 0 and not command.is_foreign:
            command.mark_lost("Another muxpilot typed between its lines.")

    async def _wait_for_next_line(self, *, is_last: bool) -> bool:
        """Return False when the next line may be typed, True when no more is to be typed."""
        if self._shell.kind.line_error and not self._command.is_foreign:
            await self._check_start()
        activity, timing = self._pane.activity, self._pane.timing
        pause_s, checked_offset, requests = timing.first_input_check_s, -1, activity.recheck_requests
        while not self._command.status.is_final:
            changes = activity.changes
            if not is_last and self._shell.phase in (Phase.CONTINUATION, Phase.PROMPT):
                await self._pane.wait_until_shell_reads()
                return False
            if self._shell.phase is Phase.CONTINUATION:
                self._command.set_waiting("rest", _INCOMPLETE)
                return True
            if activity.read_offset != checked_offset:
                pause_s = timing.first_input_check_s
            is_requested, requests = requests != activity.recheck_requests, activity.recheck_requests
            if (silence_s := activity.silence_s()) >= pause_s or is_requested:
                checked_offset = activity.read_offset
                if await self._check_waiting():
                    return True
                # The next check comes after twice the silence, and at most so much later.
                later_s = min(silence_s, timing.longest_input_check_s)
                pause_s = max(pause_s, silence_s + later_s)
            wait_s = max(pause_s - activity.silence_s(), timing.shortest_input_wait_s)
            await activity.wait_for_change(wait_s, since=changes)
        return True

    async def _check_start(self) -> None:
        """Find out whether the shell keeps the line in its editor: fish does so without a mark.

        fish keeps a line that is incomplete, or that it finds wrong. Ctrl-C removes it, without a mark too.
        """
        shell, pane = self._shell, self._pane
        length = await self._ask_kept_length()
        if length == 0 and shell.order.serial == shell.line.serial:
            pane.stack.handle(shell, ShellEvent.LINE_REMOVED)
        if not length or not self._is_typed():
            return
        _, error, message = shell.line.text_after_echo().partition(shell.kind.line_error)
        if not error:
            pane.stack.handle(shell, ShellEvent.LINE_KEPT)
            return
        self._command.output.feed(error + message.partition(DIM_BYTES)[0])
        pane.stack.handle(shell, ShellEvent.LINE_REFUSED)
        shell.status = _NOT_FOUND_STATUS
        await pane.clear_line(shell)

    async def _ask_kept_length(self) -> int | None:
        """Return how much of the line the shell keeps, or None if it has started. fish may drop our key."""
        for _ in range(_KEY_TRIES):
            if not await self._is_line_kept():
                return None
            length = await self._pane.ask_typed_length(self._shell)
            if length is not None or not self._is_typed():
                return length
        return None

    async def _is_line_kept(self) -> bool:
        """Return whether the shell still reads its terminal, or may, after the line was typed.

        The key must not be pressed before: a program that starts now would read it.
        """
        activity, timing = self._pane.activity, self._pane.timing
        for _ in range(timing.command_start_checks):
            await activity.wait_until(lambda: not self._is_typed(), timing.command_start_s)
            if not self._is_typed() or activity.end_reason is not None:
                return False
            state = await self._pane.read_state()
            if not state.is_known or self._is_back_at_prompt(state):
                return self._is_typed()
        return False

    def _is_typed(self) -> bool:
        return self._shell.phase is Phase.TYPED

    async def _check_waiting(self) -> bool:
        """Note what the command waits for, after a quiet period.

        Return True if the next queued command may be typed into it, because it has opened a shell or ended.
        """
        pane, command = self._pane, self._command
        if command.is_foreign and self._shell.line.untyped_lines:
            return False  # another muxpilot types its next line in a moment
        offset = pane.activity.read_offset
        try:
            state = await pane.read_state()
            shown = await pane.tmux.capture.cursor_line(pane.pane)
            await pane.read_all_output()
        except Unavailable as error:
            if not pane.is_remote:
                raise
            command.set_waiting(None, str(error))  # its host may come back
            return False
        if pane.is_remote and not pane.tmux.streams.is_receiving(pane.pane):
            command.trace.debug("not checked: the stream is interrupted")
            return False  # the end may have been in the gap; this is known when the stream is back
        if pane.activity.read_offset != offset or self._is_stream_behind(shown.text):
            command.trace.debug("not checked: the stream is behind the screen")
            return False
        # For a pane of another host no more is asked: it may be out of reach by then, or back after a gap.
        return await self._judge_waiting(state, shown)

    async def _judge_waiting(self, state: ForegroundState, shown: CursorLine) -> bool:
        """Note what the command waits for, as the system and the screen show it.

        Return True if the next queued command may be typed into it, because it has opened a shell or ended.
        """
        command, line = self._command, shown.text
        if self._is_line_untaken(state):
            command.trace.debug("not checked: the shell has not taken the line yet")
            return False
        is_over = await self._check_unmarked_end(state, line)
        if is_over is not None:
            return is_over
        if state.is_remote and not state.is_known and shown.is_alternate:
            self._report_full_screen(state)
            return False
        if self._has_opened_shell(state, line):
            command.trace.debug("the command opened a shell", evidence=state.evidence)
            command.set_waiting("shell", f"It has opened a shell, which is at its prompt: {line.strip()!r}.")
            return True
        self._report_input(state, shown)
        return False

    async def _check_unmarked_end(self, state: ForegroundState, line: str) -> bool | None:
        """Return whether the command has ended without our marks; None if nothing speaks for that.

        While the pane is not quiet the marks may be on their way. False then leaves it to the next check.
        """
        pane, is_quiet = self._pane, self._is_quiet  # before the shell prints its answer to our key
        if may_ask_for_end(pane, self._shell, self._command, state):
            if not is_quiet:
                return False
            if await end_unseen(pane, self._shell, self._command, state=state, line=line):
                return True
        elif self._has_ended_in_gap(state, line):
            pane.stack.drop(self._shell, ENDED_UNSEEN)
            return True
        if self._has_lost_marks(state):
            return is_quiet and await self._continue_without_marks(state, line)
        return None

    def _report_input(self, state: ForegroundState, shown: CursorLine) -> None:
        """Note which kind of input the command waits for, if it waits for any."""
        command, kind = self._command, self._find_input_kind(state, shown)
        if command.trace.is_debug:
            silence_ms = round(self._pane.activity.silence_s() * 1000)
            command.trace.debug(
                "checked for input", waits_for=kind, evidence=state.evidence, silence_ms=silence_ms
            )
        command.set_waiting(kind, describe_input(kind, state, shown.text) if kind else None)

    def _is_line_untaken(self, state: ForegroundState) -> bool:
        """Return whether the shell reads because our line has not reached it yet, not for its command."""
        is_reading = self._is_typed() and state.foreground_pid == self._shell.pid
        return is_reading and self._pane.activity.silence_s() < self._pane.timing.line_taken_s

    def _report_full_screen(self, state: ForegroundState) -> None:
        """Report a full-screen program that is quiet: behind ssh only the screen shows it."""
        self._command.trace.debug("a full-screen program is in front", is_quiet=self._is_quiet)
        if self._is_quiet:
            self._command.set_waiting("key", describe_full_screen(state))

    def _is_stream_behind(self, line: str) -> bool:
        """Return whether bytes that tmux shows already are still on their way to us.

        The marks of a prompt may be among them.
        """
        pane = self._pane
        stream = pane.tmux.streams.find_stream(pane.pane)
        is_own = pane.tmux.streams.is_own_pane(pane.pane)
        if stream is None or not is_own or pane.activity.silence_s() >= pane.timing.stream_lag_s:
            return False
        begin = max(stream.line_start(stream.end), stream.end - _COMPARED_BYTES)
        shown = render_lines(stream.read(begin, stream.end))[-1]
        return stream.end <= self._typed_at or not shown.rstrip().endswith(line.rstrip())

    def _is_back_at_prompt(self, state: ForegroundState) -> bool:
        return state.waiting_for == "shell" and state.foreground_pid == self._shell.pid

    @property
    def _is_quiet(self) -> bool:
        return self._pane.activity.silence_s() >= 2 * self._pane.timing.first_input_check_s

    def _has_ended_in_gap(self, state: ForegroundState, line: str) -> bool:
        """Return whether the command's end was in a gap of the stream.

        Where there is no `ps`, a prompt of a shell is taken for that of our shell.
        """
        if not is_in_gap(self._shell, self._command):
            return False
        is_unknown_shell = state.is_shell and not state.is_known
        return self._is_back_at_prompt(state) or (is_unknown_shell and self._has_opened_shell(state, line))

    def _has_lost_marks(self, state: ForegroundState) -> bool:
        """Return whether the prompt is back without marks: the command has replaced what held them.

        A shell with start marks prints them from two places. It may also read a line for its command.
        """
        if self._shell.phase is not Phase.RUNNING or not self._is_back_at_prompt(state):
            return False
        if self._shell.kind.marks_start:
            return bool(_CHANGES_HOOKS.search(self._command.text))
        return not state.is_ambiguous or "PS1" in self._command.text

    async def _continue_without_marks(self, state: ForegroundState, line: str) -> bool:
        """Load the marks again. The shell then reports the status that it still knows.

        Return True if that was the end of the command.
        """
        stack, untyped_lines = self._pane.stack, self._shell.line.untyped_lines
        drop_at_prompt(self._pane, self._shell, self._command, "The prompt came back without marks.")
        loaded = stack.innermost if await MarkLoader(self._pane).load(state, line) is None else None
        if loaded is None or loaded.status is None:
            self._command.mark_lost("The shell's prompt came back without our marks and without a status.")
        elif not untyped_lines:
            self._command.finish(loaded.status)
        else:
            self._shell, loaded.command = loaded, self._command
            loaded.line.untyped_lines = untyped_lines
        return not untyped_lines

    def _has_opened_shell(self, state: ForegroundState, line: str) -> bool:
        pane = self._pane
        if state.waiting_for == "shell":
            return state.foreground_pid != self._shell.pid or pane.is_replaced(self._shell)
        is_raw_remote = state.is_remote and not state.is_canonical
        return is_raw_remote and self._is_quiet and is_remote_shell_prompt(state, line)

    def _find_input_kind(self, state: ForegroundState, shown: CursorLine) -> str | None:
        """Return what the command waits for, by the system's answer and by the text before the cursor."""
        line = shown.text
        kind = find_input_kind(state, line, is_cursor_shown=shown.is_cursor_shown)
        if state.is_remote and not state.is_known:
            is_question = looks_like_question(line) and not is_remote_shell_prompt(state, line)
            kind = "line" if is_question and not state.is_canonical else None
        if kind is None:
            return None
        is_asked = kind == "password" or looks_like_question(line) or bool(line.strip())
        is_late = self._pane.activity.silence_s() >= self._pane.timing.unasked_input_s
        return kind if is_asked or is_late else None
