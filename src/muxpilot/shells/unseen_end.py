"""Ends a command whose end is missing in the output, because that was interrupted or damaged.

The shell is asked by our private key, which says the number of its last prompt. If that is the number of the
prompt at which the command was typed, the command still runs: it reads a line with the shell's own editor.
Only if the number has grown is anything typed: our marks are loaded again, and the shell reports the status
that it still knows.
"""

from __future__ import annotations

from muxpilot.processes.state import ForegroundState
from muxpilot.shells.command import Command
from muxpilot.shells.loader import MarkLoader
from muxpilot.shells.nested_shell import NestedShell
from muxpilot.shells.pane_context import PaneContext
from muxpilot.shells.shell_phases import Phase
from muxpilot.terminal.escapes import ERASE_ROW_BYTES

ENDED_UNSEEN = "The command ended while its output was interrupted."
_TRIES = 3
_ERASE_PROMPT = b"\r" + ERASE_ROW_BYTES


def is_in_gap(shell: NestedShell, command: Command) -> bool:
    """Return whether output of the command is missing, so that its end may be too."""
    return shell.phase is Phase.UNKNOWN and command.output.lost_bytes > 0


def may_ask_for_end(pane: PaneContext, shell: NestedShell, command: Command, state: ForegroundState) -> bool:
    """Return whether the shell itself reads, although its command has not ended, and can be asked why."""
    is_reading = state.waiting_for == "shell" and state.foreground_pid == shell.pid
    has_key = shell.kind.numbers_ends and shell.image is not None and not shell.is_key_silent
    return is_reading and has_key and not command.is_foreign and not pane.is_replaced(shell)


def drop_at_prompt(pane: PaneContext, shell: NestedShell, command: Command, reason: str) -> None:
    """Drop a shell that is back at a prompt without marks, which was taken for output of the command."""
    command.output.feed(_ERASE_PROMPT)
    shell.command = None
    pane.stack.drop(shell, reason)


async def _ask_for_number(pane: PaneContext, shell: NestedShell, *, tries: int) -> int | None:
    """Return the number of the shell's last prompt. On a full disk its answer may be lost too."""
    for _ in range(tries):
        if (number := await pane.ask_prompt_number(shell)) is not None:
            return number
    return None


async def end_unseen(
    pane: PaneContext, shell: NestedShell, command: Command, *, state: ForegroundState, line: str
) -> bool:
    """End the command if it has ended. Its status is known if only one prompt has come since."""
    last, untyped_lines = shell.line.serial, shell.line.untyped_lines
    number = await _ask_for_number(pane, shell, tries=_TRIES if is_in_gap(shell, command) else 1)
    if command.status.is_final:  # its marks were on their way
        return True
    if number is None and not is_in_gap(shell, command):
        shell.is_key_silent = True
        return False
    if number is not None and number <= last:
        return False
    command.trace.debug("the end of the command was not seen", last=last, number=number)
    command.output.note_lost(1, command.output.lost_reason or "the pane's stream was interrupted")
    drop_at_prompt(pane, shell, command, ENDED_UNSEEN)
    loaded = None
    if number == last + 1 and not untyped_lines and await MarkLoader(pane).load(state, line) is None:
        loaded = pane.stack.innermost
    if loaded is not None and loaded.status is not None:
        command.finish(loaded.status, ENDED_UNSEEN)
    else:
        command.mark_lost(ENDED_UNSEEN, cause="gap")
    return True
