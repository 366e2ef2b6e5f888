"""Waits until a pane takes a command: its innermost shell is at its prompt, and nothing is typed there."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from muxpilot.errors import Refused
from muxpilot.processes.state import ForegroundState
from muxpilot.shells.command import Command, ShellId
from muxpilot.shells.loader import MarkLoader
from muxpilot.shells.nested_shell import NestedShell
from muxpilot.shells.occupant import (
    PERSON_CONTINUES,
    PERSON_TYPED,
    Obstacle,
    describe_program,
    is_remote_shell_prompt,
)
from muxpilot.shells.pane_context import PaneContext
from muxpilot.shells.pane_lock import CrossProcessPaneLock
from muxpilot.shells.shell_phases import Phase, ShellEvent
from muxpilot.terminal.prompt_signs import looks_like_shell_prompt
from muxpilot.terminal.text import render_lines
from muxpilot.tmux.objects.typing_ticket import TicketRefused

_PROGRAM_RUNS = Obstacle(
    "A program that was not started by muxpilot is running.",
    "Wait for it with watch-pane, use another pane, or set queue to true",
    is_occupant=True,
)
_SHELL_READS = Obstacle(
    "The shell itself reads a line.",
    "Answer with send-keys, use another pane, or set queue to true to wait",
    is_occupant=True,
)
_OTHER_MUXPILOT = Obstacle("Another muxpilot runs a command in the pane.")
_OTHER_BEFORE = Obstacle("A command of another muxpilot was asked for before it.")
_BUSY = Obstacle("The pane is busy.")
_JUST_ENDED = Obstacle("A program has just ended.")
_NOT_AT_PROMPT = Obstacle("The shell is not at its prompt.")
_GIVING_UP = Obstacle("The incomplete command before it is being given up.")
_NO_MARKS = "The shell prints our marks no more."


class PromptWaiter:
    """Finds out what keeps a command from being typed, and removes what it may."""

    def __init__(
        self,
        pane: PaneContext,
        lock: CrossProcessPaneLock,
        *,
        take_over: Callable[[], Awaitable[None]],
        is_next: Callable[[], bool],
        has_lines_ahead: Callable[[], bool],
        watch_foreign: Callable[[Command], None],
        is_starting: bool,
        has_hint: bool,
    ) -> None:
        """Set `is_starting` if our shell is starting, `has_hint` if the settings name the shell.

        `take_over` takes over commands whose muxpilot is gone. `is_next` tells whether it is still the turn
        of the command: one that was taken over may have been asked for earlier. `has_lines_ahead` tells
        whether another muxpilot has typed a line that our reading has not come to yet. `watch_foreign` finds
        out what a command of another muxpilot waits for.
        """
        self._pane = pane
        self._lock = lock
        self._take_over = take_over
        self._is_next = is_next
        self._has_lines_ahead = has_lines_ahead
        self._watch_foreign = watch_foreign
        self._is_starting = is_starting
        self._has_hint = has_hint
        self._command: Command | None = None
        self.occupant: Obstacle | None = None  # what was in front at the last check
        self._occupied_since: float | None = None  # since when an occupant was seen at each check

    async def wait_for_prompt(self, command: Command) -> NestedShell | None:
        """Return the shell at whose prompt the command may be typed now.

        None if the command was withdrawn or refused, or is lost because its shell has gone.
        """
        activity, timing = self._pane.activity, self._pane.timing
        pause_s, checks = timing.first_prompt_check_s, 0
        self._command = command
        while not command.status.is_final and not command.is_foreign and self._is_next():
            if activity.end_reason is not None:
                raise Refused(f"The pane has ended: {activity.end_reason}.")
            changes = activity.changes
            obstacle = await self._find_obstacle_in_turn(command)
            checks += 1
            if self._is_lost(obstacle) or self._is_refused(obstacle):
                break
            if obstacle is None and self._pane.stack.innermost is not None and self._is_next():
                command.trace.debug("prompt is ready", checks=checks)
                self._lock.mark_ours()
                return self._pane.stack.innermost
            text = obstacle.text if obstacle is not None else None
            command.trace.debug("waiting for the prompt", obstacle=text, checks=checks, pause_s=pause_s)
            self._lock.release()
            command.set_waiting(None, text)
            await activity.wait_for_change(self._limit_pause(pause_s), since=changes)
            longest_s = timing.longest_prompt_check_s if command.is_admitted else timing.occupied_check_s
            pause_s = min(2 * pause_s, longest_s)
            if obstacle in (_OTHER_MUXPILOT, _OTHER_BEFORE):
                pause_s = timing.first_prompt_check_s
        return None

    def _limit_pause(self, pause_s: float) -> float:
        """Return when to look again: not later than when the pane has been quiet for long enough.

        A prompt that draws itself each second would else be looked at only right after that.
        """
        quiet_s = self._pane.timing.remote_quiet_s - self._pane.activity.silence_s()
        return min(pause_s, quiet_s + self._pane.timing.quiet_margin_s) if quiet_s > 0 else pause_s

    def _is_lost(self, obstacle: Obstacle | None) -> bool:
        """End the command if it can never run: the shell that it was meant for has gone."""
        command, stack = self._command, self._pane.stack
        if command is None or command.binding is None or command.status.is_final:
            return False
        shell = stack.innermost.id if obstacle is None and stack.innermost is not None else None
        mismatch = command.binding.find_mismatch(shell)
        if mismatch is not None:
            command.mark_lost(mismatch, cause="shell-gone")
        return mismatch is not None

    def _is_refused(self, obstacle: Obstacle | None) -> bool:
        """Refuse the command if something is in front that does not go away, and its caller does not wait."""
        command, timing = self._command, self._pane.timing
        self.occupant = obstacle if obstacle is not None and obstacle.is_occupant else None
        if self.occupant is None:
            self._occupied_since = None
        if self.occupant is None or command is None or command.is_admitted:
            return False
        # One look is not enough, however late: a shell may run a program for its prompt in that moment.
        now = time.monotonic()
        if self._occupied_since is None:
            self._occupied_since = now
        if command.elapsed_s < timing.occupied_s or now - self._occupied_since < timing.occupied_check_s / 2:
            return False
        command.refuse(self.occupant.to_refusal(self._pane.pane))
        return True

    async def _find_obstacle_in_turn(self, command: Command) -> Obstacle | None:
        """Return what keeps the command from being typed; first of all, its turn must have come."""
        if not self._lock.try_acquire():
            return _OTHER_MUXPILOT
        shared = self._pane.shared_commands
        shared.sync()
        if self._has_lines_ahead():
            return _OTHER_MUXPILOT
        if shared.find_queued_before(command) is None:
            return await self._find_obstacle()
        if shared.find_abandoned():
            await self._take_over()
        return _OTHER_BEFORE

    async def _find_obstacle(self) -> Obstacle | None:
        """Return what keeps a command from being typed, or None."""
        shell = self._pane.stack.innermost
        if self._lock.was_used_by_other and shell is not None and shell.command is None:
            return await self._load_again(shell)
        if shell is not None and self._is_running_foreign(shell):
            return _OTHER_MUXPILOT
        if shell is None or shell.phase in (Phase.UNKNOWN, Phase.RUNNING, Phase.STARTING):
            return await self._enter_shell(shell)
        if shell.command is not None and shell.command.is_foreign and shell.line.untyped_lines:
            return _OTHER_MUXPILOT  # it types the next line of its command in a moment
        if shell.phase is Phase.CONTINUATION:
            return await self._give_up_incomplete(shell) if shell.command is not None else PERSON_CONTINUES
        if shell.phase is not Phase.PROMPT:
            return _NOT_AT_PROMPT
        return await self._find_typed_text(shell)

    def _is_running_foreign(self, shell: NestedShell) -> bool:
        """Return whether a command of another muxpilot runs in the shell, and does not wait for input."""
        command = shell.command
        if command is None or not command.is_foreign or shell.phase is not Phase.RUNNING:
            return False
        self._watch_foreign(command)
        return command.waiting_for is None

    async def _load_again(self, shell: NestedShell) -> Obstacle | None:
        """Load our marks once more: another muxpilot has replaced them, or a person has removed them."""
        self._pane.stack.drop(shell, _NO_MARKS)
        return await self._enter_shell(self._pane.stack.innermost)

    async def _find_typed_text(self, shell: NestedShell) -> Obstacle | None:
        """Return what a person does at this prompt, or None if nothing is typed there."""
        pane, prompt, stream = self._pane, shell.prompt, self._pane.stream
        assert stream is not None
        if pane.is_in_foreground(shell) is False:
            return await self._enter_shell(shell)  # a program, or a shell that a person started
        if not shell.kind.marks_start:
            await self._wait_for_plain_prompt(shell)
        if prompt.person_typed_at == stream.end:
            return PERSON_TYPED
        since = stream.read(prompt.offset, stream.end)
        if b"\n" in since and not shell.kind.marks_start:
            if not await self._is_back_at_prompt():
                return _PROGRAM_RUNS
            if looks_like_shell_prompt(render_lines(since)[-1]):
                return await self._load_again(shell)  # a prompt without our marks
        text = pane.text_after_prompt(shell)
        is_doubtful = b"\n" in since or prompt.person_typed_at is not None or prompt.may_have_typeahead
        if shell.kind.has_key and (text or is_doubtful):
            return await self._ask_by_key(shell, has_text=bool(text))
        return self._note_typed_text(shell, is_empty=not text)

    async def _wait_for_plain_prompt(self, shell: NestedShell) -> None:
        """Wait until a shell without a start mark reads, and all that it printed has arrived."""
        if shell.prompt.is_first:
            await self._pane.wait_for_redraw()
        await self._pane.sync_with_tmux()
        await self._pane.wait_until_shell_reads()
        await self._pane.sync_with_tmux()

    async def _ask_by_key(self, shell: NestedShell, *, has_text: bool) -> Obstacle | None:
        """Ask the shell by our private key whether text is typed at its prompt."""
        pane = self._pane
        await pane.wait_until_shell_reads()  # after an Enter the terminal would show the key's bytes
        is_empty = shell.phase is Phase.PROMPT and await pane.ask_typed_length(shell) == 0
        if shell.phase is not Phase.PROMPT:
            return _PROGRAM_RUNS  # text that was typed ahead has started
        if shell.prompt.typed_length is None and not has_text:
            return await self._load_again(shell)  # the key is not bound any more
        shell.prompt.may_have_typeahead = False
        if not is_empty:
            await pane.wait_for_redraw()
        return self._note_typed_text(shell, is_empty=is_empty)

    def _note_typed_text(self, shell: NestedShell, *, is_empty: bool) -> Obstacle | None:
        assert self._pane.stream is not None
        shell.prompt.person_typed_at = None if is_empty else self._pane.stream.end
        return None if is_empty else PERSON_TYPED

    async def _is_back_at_prompt(self) -> bool:
        """Return whether the shell reads again. Without a start mark, a line end means that it ran a line."""
        is_quiet = self._pane.activity.silence_s() >= self._pane.timing.busy_s
        return is_quiet and (await self._pane.read_state()).waiting_for == "shell"

    async def _give_up_incomplete(self, shell: NestedShell) -> Obstacle | None:
        """Clear a command of ours that the shell waits for the rest of: it has done nothing yet.

        A client or a person may press Ctrl-C in the same moment. One of the two then comes at the prompt, and
        would interrupt the next line: the shell must have taken both before that is typed.
        """
        await self._pane.wait_for_redraw()
        if shell.phase is Phase.CONTINUATION and shell.command is not None:
            shell.command.is_cancelled = True
            await self._pane.clear_line(shell)
            await self._pane.wait_for_redraw()
        if shell.phase is not Phase.PROMPT:
            return _GIVING_UP
        shell.prompt.may_have_typeahead = True  # so that our key is answered first
        return await self._find_typed_text(shell)

    async def _enter_shell(self, shell: NestedShell | None) -> Obstacle | None:
        """Load our marks into the foreground program, if that is a shell at its prompt.

        `shell` is the innermost one that is known; another program or another shell has the foreground.
        """
        pane, timing = self._pane, self._pane.timing
        is_starting = self._is_starting and (shell is None or shell.phase is Phase.STARTING)
        is_busy = pane.activity.silence_s() < (timing.start_s if is_starting else timing.busy_s)
        if is_busy and (is_starting or not self._is_waiting_long(timing.occupied_s)):
            return _BUSY
        state = await pane.read_state()
        line = await pane.tmux.capture.text_before_cursor(pane.pane)
        if state.waiting_for != "shell":
            if is_busy or not await self._is_remote_prompt(state, line):
                return await self._describe_front(state, line, is_starting=is_starting)
        elif is_busy:
            return _BUSY
        elif shell is not None and state.foreground_pid == shell.pid:
            if (obstacle := self._judge_known_shell(shell)) is not None:
                return obstacle
            if await self._is_prompt_by_key(shell):
                return None
            pane.stack.drop(shell, "The shell was replaced by another, or prints our marks no more.")
        return await self._load_marks(state, line)

    def _judge_known_shell(self, shell: NestedShell) -> Obstacle | None:
        """Return why a known shell that reads takes no command; None if its prompt has lost our marks."""
        if shell.phase is Phase.PROMPT:
            return _JUST_ENDED
        is_same = shell.phase is Phase.RUNNING and not self._pane.is_replaced(shell)
        return _SHELL_READS if is_same else None

    async def _load_marks(self, state: ForegroundState, line: str) -> Obstacle | None:
        """Load our marks into the shell in front, unless the command is meant for another shell."""
        if self._is_meant_for_other(state):
            return _NOT_AT_PROMPT
        try:
            text = await MarkLoader(self._pane).load(state, line)
        except TicketRefused:
            return _OTHER_BEFORE  # another muxpilot has typed at the same moment
        return PERSON_TYPED if text is not None else None

    def _is_waiting_long(self, least_s: float) -> bool:
        return self._command is not None and self._command.elapsed_s >= least_s

    def _is_meant_for_other(self, state: ForegroundState) -> bool:
        """End the command before our marks are typed into a shell that it is not meant for."""
        command = self._command
        if command is None or command.binding is None:
            return False
        pid = 0 if state.is_remote else state.foreground_pid or 0
        shell = ShellId("", pid, len(self._pane.stack.shells))
        mismatch = command.binding.find_mismatch(shell)
        if mismatch is not None:
            command.mark_lost(mismatch, cause="shell-gone")
        return mismatch is not None

    async def _describe_front(self, state: ForegroundState, line: str, *, is_starting: bool) -> Obstacle:
        """Return what is in front. A shell that may still be starting, or draws its prompt, is given time."""
        timing = self._pane.timing
        stack = self._pane.stack
        is_new_shell = state.is_shell and all(shell.pid != state.foreground_pid for shell in stack.shells)
        last = stack.innermost
        # Nothing runs in it, and the functions of its prompt take long.
        is_at_end = last is not None and last.phase is not Phase.RUNNING and state.foreground_pid == last.pid
        may_start = is_starting or is_new_shell or is_at_end or state.foreground_pid is None
        if may_start and state.waiting_for is None and not self._is_waiting_long(timing.shell_start_s):
            return Obstacle(f"{state.foreground_cmd or 'A program'} is running in the pane.")
        is_alternate = (await self._pane.tmux.panes.get(self._pane.pane)).is_alternate
        return describe_program(state, line, is_alternate=is_alternate)

    async def _is_prompt_by_key(self, shell: NestedShell) -> bool:
        """Return whether the private key shows an empty prompt, where that has lost its mark."""
        pane = self._pane
        if not shell.kind.has_key or pane.is_replaced(shell) or await pane.ask_typed_length(shell) is None:
            return False
        pane.stack.handle(shell, ShellEvent.KEY_ANSWERED)
        shell.prompt.offset = pane.stream.end if pane.stream is not None else 0
        shell.prompt.may_have_typeahead = shell.prompt.typed_length != 0
        return not shell.prompt.may_have_typeahead

    async def _is_remote_prompt(self, state: ForegroundState, line: str) -> bool:
        """Return whether the screen shows a shell's prompt, where the system does not show it.

        That is on the other side of ssh, or where the settings say that a shell is in the pane. Nothing is
        typed into a program that may be another one: a REPL, an editor, or a terminal inside the pane.
        """
        is_unseen = state.is_remote or (self._has_hint and not state.is_known)
        is_quiet = self._pane.activity.silence_s() >= self._pane.timing.remote_quiet_s
        if not is_unseen or state.is_canonical or not is_quiet or not is_remote_shell_prompt(state, line):
            return False
        return not (await self._pane.tmux.panes.get(self._pane.pane)).is_alternate
