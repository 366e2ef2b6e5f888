"""Loads our marks into a shell that is at its prompt already, with one typed line.

On this machine the line names a private file. On the other side of `ssh`, `su` or `docker exec` that file
cannot be read. There the line asks which shell it is, and then reads the script with the echo off.
"""

from __future__ import annotations

import re
import secrets

from muxpilot.errors import Refused
from muxpilot.processes.identity import shares_our_files
from muxpilot.processes.state import ForegroundState
from muxpilot.shell_table import ShellKind, shell_with_marks
from muxpilot.shell_table.integration import ask_line, one_line, prompt_text, shell_of_versions
from muxpilot.shells.pane_context import PaneContext
from muxpilot.shells.shell_phases import Phase
from muxpilot.terminal.prompt_signs import looks_like_shell_prompt
from muxpilot.tmux.objects.typing_ticket import TicketRefused

_HINT = "Use send-keys and read-pane there."
# Goes up a row and erases it, as `printf` of every shell understands it.
_ERASE_ROW_ABOVE = "\\033[A\\033[2K"
# What is left of our mark at the end of a prompt that dash has inherited from bash, busybox sh or zsh.
_BRACKETS = re.compile(r"(?:\\\[\\\]|%\{%\})\s*$")


class MarkLoader:
    """Loads marks with a new nonce, once."""

    def __init__(self, pane: PaneContext) -> None:
        self._pane = pane
        self._nonce = secrets.token_hex(16)

    async def load(self, state: ForegroundState, line: str) -> str | None:
        """Make the foreground shell print our marks. Return None, or what prevents it.

        `line` is the text before the cursor.
        """
        if not await self._is_prompt_empty(state, line):
            return "There is text at the prompt."
        kind = shell_with_marks(state.foreground_cmd) if state.is_shell else None
        is_local = kind is not None and not self._pane.is_remote and shares_our_files(state.foreground_pid)
        outer = self._pane.stack.innermost
        inside = outer.nonce if outer is not None else ""
        self._pane.shared_commands.log.add_shell(self._nonce, inside=inside)
        self._pane.expect_shell(self._nonce, inside=inside)
        trace = self._pane.trace
        try:
            with trace.step("marks loaded", by="file" if is_local else "line", shell=state.foreground_cmd):
                if kind is not None and is_local:
                    await self._load_by_file(kind)
                else:
                    await self._load_by_line()
        except BaseException:
            self._pane.scanner.nonces.discard(self._nonce)
            raise
        loaded = self._pane.stack.innermost
        if loaded is not None and not loaded.kind.marks_start:
            await self._pane.wait_until_shell_reads()
        return None

    async def _is_prompt_empty(self, state: ForegroundState, line: str) -> bool:
        """Return whether nothing is typed at the prompt: our line would be joined to it, and run."""
        if looks_like_shell_prompt(_BRACKETS.sub("", line)):
            return True
        if state.is_canonical:
            return False
        tmux, pane = self._pane.tmux, self._pane.pane
        column = (await tmux.panes.get(pane)).cursor_column
        await tmux.input.press(pane, "C-a")
        has_moved = await self._cursor_moves_from(column)
        await tmux.input.press(pane, "C-e")
        return not has_moved

    async def _cursor_moves_from(self, column: int) -> bool:
        """Return whether the cursor leaves a column; a shell on a busy machine takes its time."""
        activity, timing = self._pane.activity, self._pane.timing
        for _ in range(timing.cursor_checks):
            changes = activity.changes
            if (await self._pane.tmux.panes.get(self._pane.pane)).cursor_column != column:
                return True
            await activity.wait_for_change(timing.cursor_check_s, since=changes)
        return False

    async def _load_by_file(self, kind: ShellKind) -> None:
        folder = self._pane.tmux.connection.temporary_folder
        file = folder.unused_path("i")
        line = f" {kind.source} {file}"
        wipe = await self._wipe_text(line)
        folder.write_private(file, prompt_text(kind, self._nonce, line_holds=str(file), wipe=wipe))
        try:
            await self._type_line(line)
            await self._wait_until_loaded()
        finally:
            file.unlink(missing_ok=True)

    async def _load_by_line(self) -> None:
        token = secrets.token_hex(4)
        line = ask_line(token)
        wipe = await self._wipe_text(line)
        self._pane.scanner.nonces.add(token)
        try:
            await self._type_line(line)
            await self._pane.activity.wait_until(
                lambda: self._answered_versions(token) is not None, self._pane.timing.version_answer_s
            )
            versions = self._answered_versions(token)
            if versions is None:
                raise Refused("The program in the pane did not respond like a shell.", _HINT)
            kind = shell_of_versions(versions)
            text = prompt_text(kind, self._nonce, line_holds=token, wipe=wipe)
            await self._type_line(one_line(text))
            await self._wait_until_loaded()
        finally:
            self._pane.scanner.nonces.discard(token)

    def _answered_versions(self, token: str) -> str | None:
        answer = self._pane.stack.versions
        return answer.value if answer is not None and answer.nonce == token else None

    async def _wipe_text(self, line: str) -> str:
        """Return what erases the typed line from the screen, so that a person does not see it."""
        row = await self._pane.tmux.panes.get(self._pane.pane)
        rows = 1 + (row.cursor_column + len(line)) // row.width
        return f"{_ERASE_ROW_ABOVE * rows}\\r"

    async def _type_line(self, line: str) -> None:
        log = self._pane.shared_commands.log
        async with self._pane.hold_typing("mark loader"):
            ticket = log.take_ticket("load")
            try:
                await self._pane.tmux.input.type(self._pane.pane, line, enter=True, ticket=ticket)
            except TicketRefused as refused:
                log.last_ticket = refused.last
                raise
            log.last_ticket = ticket.name

    async def _wait_until_loaded(self) -> None:
        await self._pane.activity.wait_until(self._is_loaded, self._pane.timing.load_s)
        if not self._is_loaded():
            raise Refused("The shell in the pane did not take muxpilot's marks.", _HINT)

    def _is_loaded(self) -> bool:
        shell = self._pane.stack.innermost
        return shell is not None and shell.nonce == self._nonce and shell.phase is Phase.PROMPT
