"""Waits until a pane takes a command: its innermost shell is at its prompt, and nothing is typed there."""

from __future__ import annotations

from muxpilot.errors import Refused
from muxpilot.processes.state import ForegroundState
from muxpilot.shells.command import Command
from muxpilot.shells.loader import MarkLoader
from muxpilot.shells.nested_shell import NestedShell
from muxpilot.shells.pane_context import PaneContext
from muxpilot.shells.pane_lock import CrossProcessPaneLock
from muxpilot.shells.shell_phases import Phase, ShellEvent
from muxpilot.terminal.prompt_signs import (
    looks_like_remote_shell_prompt,
    looks_like_shell_prompt,
    text_typed_after,
)
from muxpilot.terminal.text import render_lines
from muxpilot.tmux import PaneStream

_PROGRAM_RUNS = "A program that was not started by muxpilot is running."
_TEXT_TYPED = "There is text that a person typed at the prompt."
_OTHER_MUXPILOT = "Another muxpilot runs a command in the pane."
_NO_MARKS = "The shell prints our marks no more."


class PromptWaiter:
    """Finds out what keeps a command from being typed, and removes what it may."""

    def __init__(
        self, pane: PaneContext, lock: CrossProcessPaneLock, *, is_starting: bool, has_hint: bool
    ) -> None:
        """Set `is_starting` if our shell is starting, `has_hint` if the settings name the shell."""
        self._pane = pane
        self._lock = lock
        self._is_starting = is_starting
        self._has_hint = has_hint

    async def wait_for_prompt(self, command: Command) -> NestedShell | None:
        """Return the shell at whose prompt the command may be typed now; None if it was withdrawn."""
        activity, timing = self._pane.activity, self._pane.timing
        pause_s, checks = timing.first_prompt_check_s, 0
        while not command.status.is_final:
            if activity.end_reason is not None:
                raise Refused(f"The pane has ended: {activity.end_reason}.")
            changes = activity.changes
            obstacle = await self._find_obstacle() if self._lock.try_acquire() else _OTHER_MUXPILOT
            checks += 1
            if obstacle is None and self._pane.stack.innermost is not None:
                command.trace.debug("prompt is ready", checks=checks)
                self._lock.mark_ours()
                return self._pane.stack.innermost
            command.trace.debug("waiting for the prompt", obstacle=obstacle, checks=checks, pause_s=pause_s)
            self._lock.release()
            command.set_waiting(None, obstacle)
            await activity.wait_for_change(pause_s, since=changes)
            pause_s = min(2 * pause_s, timing.longest_prompt_check_s)
            if obstacle == _OTHER_MUXPILOT:
                pause_s = timing.first_prompt_check_s
        return None

    async def _find_obstacle(self) -> str | None:
        """Return what keeps a command from being typed, or None."""
        shell = self._pane.stack.innermost
        if self._lock.was_used_by_other and shell is not None and shell.command is None:
            return await self._load_again(shell)
        if shell is None or shell.phase in (Phase.UNKNOWN, Phase.RUNNING, Phase.STARTING):
            return await self._enter_shell(shell)
        if shell.phase is Phase.CONTINUATION and shell.command is not None:
            return await self._give_up_incomplete(shell)
        if shell.phase is not Phase.PROMPT:
            return "The shell is not at its prompt."
        return await self._find_typed_text(shell)

    async def _load_again(self, shell: NestedShell) -> str | None:
        """Load our marks once more: another muxpilot has replaced them, or a person has removed them."""
        self._pane.stack.drop(shell, _NO_MARKS)
        return await self._enter_shell(self._pane.stack.innermost)

    async def _find_typed_text(self, shell: NestedShell) -> str | None:
        """Return what a person does at this prompt, or None if nothing is typed there."""
        pane, prompt, stream = self._pane, shell.prompt, self._pane.stream
        assert stream is not None
        if pane.is_in_foreground(shell) is False:
            return await self._enter_shell(shell)  # a person may have opened another shell
        if not shell.kind.marks_start:
            await self._wait_for_plain_prompt(shell)
        if prompt.person_typed_at == stream.end:
            return _TEXT_TYPED
        since = stream.read(prompt.offset, stream.end)
        if b"\n" in since and not shell.kind.marks_start:
            if not await self._is_back_at_prompt():
                return _PROGRAM_RUNS
            if looks_like_shell_prompt(render_lines(since)[-1]):
                return await self._load_again(shell)  # a prompt without our marks
        text = _text_after_prompt(stream, shell, since)
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

    async def _ask_by_key(self, shell: NestedShell, *, has_text: bool) -> str | None:
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

    def _note_typed_text(self, shell: NestedShell, *, is_empty: bool) -> str | None:
        assert self._pane.stream is not None
        shell.prompt.person_typed_at = None if is_empty else self._pane.stream.end
        return None if is_empty else _TEXT_TYPED

    async def _is_back_at_prompt(self) -> bool:
        """Return whether the shell reads again. Without a start mark, a line end means that it ran a line."""
        is_quiet = self._pane.activity.silence_s() >= self._pane.timing.busy_s
        return is_quiet and (await self._pane.read_state()).waiting_for == "shell"

    async def _give_up_incomplete(self, shell: NestedShell) -> str | None:
        """Clear a command of ours that the shell waits for the rest of: it has done nothing yet."""
        if shell.command is not None:
            shell.command.is_cancelled = True
            await self._pane.clear_line(shell)
        if not shell.kind.marks_start:
            await self._pane.wait_until_shell_reads()
        return None if shell.phase is Phase.PROMPT else "The incomplete command before it is being given up."

    async def _enter_shell(self, shell: NestedShell | None) -> str | None:
        """Load our marks into the foreground program, if that is a shell at its prompt.

        `shell` is the innermost one that is known; another program or another shell has the foreground.
        """
        pane, timing, activity = self._pane, self._pane.timing, self._pane.activity
        if activity.silence_s() < (timing.start_s if self._is_starting else timing.busy_s):
            return "The pane is busy."
        state = await pane.read_state()
        line = await pane.tmux.capture.text_before_cursor(pane.pane)
        if state.waiting_for == "shell":
            if shell is not None and state.foreground_pid == shell.pid:
                if shell.phase is Phase.PROMPT:
                    return "A program has just ended."
                if shell.phase is Phase.RUNNING and not pane.is_replaced(shell):
                    return "The shell itself reads a line."
                if await self._is_prompt_by_key(shell):
                    return None
                pane.stack.drop(shell, "The shell was replaced by another, or prints our marks no more.")
        elif not (self._looks_ready(state, line) and activity.silence_s() >= timing.remote_quiet_s):
            return f"{state.foreground_cmd or 'A program'} is running in the pane."
        return await MarkLoader(pane).load(state, line)

    async def _is_prompt_by_key(self, shell: NestedShell) -> bool:
        """Return whether the private key shows an empty prompt, where that has lost its mark."""
        pane = self._pane
        if not shell.kind.has_key or pane.is_replaced(shell) or await pane.ask_typed_length(shell) is None:
            return False
        pane.stack.handle(shell, ShellEvent.KEY_ANSWERED)
        shell.prompt.offset = pane.stream.end if pane.stream is not None else 0
        shell.prompt.may_have_typeahead = shell.prompt.typed_length != 0
        return not shell.prompt.may_have_typeahead

    def _looks_ready(self, state: ForegroundState, line: str) -> bool:
        """Return whether the screen shows a shell's prompt, where the system does not show it.

        That is on the other side of ssh, or where the settings say that a shell is in the pane.
        """
        is_unseen = state.is_remote or (self._has_hint and not state.is_known)
        return is_unseen and not state.is_canonical and looks_like_remote_shell_prompt(line)


def _text_after_prompt(stream: PaneStream, shell: NestedShell, since: bytes) -> str:
    offset = shell.prompt.offset
    prompt = stream.read(stream.line_start(offset), offset)
    return text_typed_after(prompt, since) if since else ""
