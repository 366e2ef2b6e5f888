"""Which shell a queued command is meant for. It never runs in another one.

What stood in front of the command when it was asked for decides. Behind a program that opens a shell (ssh,
su) the command waits for that shell. Behind anything else it runs in the shell below.
"""

from __future__ import annotations

from collections.abc import Sequence

from muxpilot.records import record
from muxpilot.shells.command import Command, ShellId

_OTHER_SHELL = "The shell that it was meant for has ended, or another one stands there now. It was not run."


@record
class InsideCommand:
    """The command is meant for the shell that a command of ours opens."""

    opener: Command

    def find_mismatch(self, _: ShellId | None) -> str | None:
        """Return why the command cannot run any more, or None."""
        if not self.opener.status.is_final:
            return None
        self.opener.is_end_told = True
        how = describe_end(self.opener)
        return f"{how} It was meant for the shell inside that, and was not run."


@record
class SameShell:
    """The command is meant for the shell in which the command before it runs."""

    before: Command

    def find_mismatch(self, shell: ShellId | None) -> str | None:
        """Return why the command cannot run in this shell, or None."""
        ran_in = self.before.ran_in
        if ran_in is None:
            return self.before.binding.find_mismatch(shell) if self.before.binding is not None else None
        return _OTHER_SHELL if shell is not None and not shell.is_same(ran_in) else None


@record
class BehindProgram:
    """The command is meant for a shell beside a program that we did not start.

    `shells` are those that were known in the pane, the innermost last. `pids` are processes below the
    program, the nearest first; the nearest is its shell.
    """

    program: str
    shells: Sequence[ShellId]
    pids: Sequence[int]
    opens_shell: bool = False

    def find_mismatch(self, shell: ShellId | None) -> str | None:
        """Return why the command cannot run in this shell, or None."""
        if shell is None:
            return None
        if self.opens_shell:
            is_below = shell.pid in self.pids or any(shell.is_same(known) for known in self.shells)
            ended = f"{self.program} has ended without a shell that took the command."
            return f"{ended} It was not run in the shell below." if is_below else None
        if self.shells:
            return None if shell.is_same(self.shells[-1]) else _OTHER_SHELL
        return None if not self.pids or shell.pid == self.pids[0] else _OTHER_SHELL


@record
class UnknownShell:
    """The record of the command is damaged: the shell that it is meant for is not known."""

    def find_mismatch(self, _: ShellId | None) -> str | None:
        """Return why the command cannot run."""
        return "Its record is damaged: the shell that it was meant for is not known. It was not run."


def describe_end(command: Command) -> str:
    """Say how a command has ended, for the answer to another one."""
    code = "" if command.exit_code is None else f" with exit code {command.exit_code}"
    return f"{command.text[:80]!r} has ended meanwhile{code} ({command.status.value})."
