"""The commands that this muxpilot knows: those that it was asked for, and those of others that it has met.

Commands that have ended are kept for a while, so that their results can be asked for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from muxpilot.errors import BadInput
from muxpilot.shells.command import Command
from muxpilot.shells.pane_log import RecordLimits
from muxpilot.shells.told_commands import ToldCommands
from muxpilot.tmux import PaneId

# So many more may stay while commands come: to look for old ones with each new one would cost too much.
_SURPLUS = 100


class KnownCommands:
    """Commands by their ids. Those that have ended are forgotten when they are too many or too old."""

    def __init__(self, limits: RecordLimits, told: ToldCommands, *, forget_every_s: float) -> None:
        """Take the limits. Old commands are looked for after each `forget_every_s`, and if there are many."""
        self._limits = limits
        self._told = told
        self._forget_every_s = forget_every_s
        self._forgot_at = time.monotonic()
        self._commands: dict[str, Command] = {}

    def __contains__(self, command_id: str) -> bool:
        return command_id in self._commands

    def find(self, command_id: str) -> Command | None:
        """Return a command; None if it is not known, or not any more."""
        return self._commands.get(command_id)

    def list(self, socket: str | None, pane: PaneId | None) -> Sequence[Command]:
        """Return all commands in the order of asking; those of one server, or of one pane there."""
        found = [
            command
            for command in self._commands.values()
            if socket in (None, command.socket) and pane in (None, command.pane)
        ]
        return sorted(found, key=lambda command: command.submitted_at)

    def add(self, command: Command) -> None:
        """Keep a command from now on."""
        self._commands[command.id] = command

    def add_foreign(self, command: Command) -> None:
        """Keep a command that another muxpilot was asked for, unless it is known already."""
        self._commands.setdefault(command.id, command)

    def remove(self, command_id: str) -> None:
        """Forget a command that was never typed."""
        self._commands.pop(command_id, None)
        self._told.forget(command_id)

    def forget_old(self, *, is_exact: bool = True) -> None:
        """Forget ended commands that are too many or too old, but look for them only now and then.

        Without `is_exact` some more than the limit may stay.
        """
        now = time.monotonic()
        is_soon = now < self._forgot_at + self._forget_every_s
        if len(self._commands) <= self._limits.most + (0 if is_exact else _SURPLUS) and is_soon:
            return
        self._forgot_at = now
        ended = [command for command in self._commands.values() if command.ended_at is not None]
        surplus = max(0, len(ended) - self._limits.most)
        for index, command in enumerate(ended):
            if index < surplus or now - (command.ended_at or now) > self._limits.kept_s:
                self.remove(command.id)
                command.output.close()

    def close(self) -> None:
        """Release the output of all commands."""
        for command in self._commands.values():
            command.output.close()


def command_not_found(command_id: str) -> BadInput:
    """Return the error for an id that no command has."""
    return BadInput(
        f"Command {command_id[:40]!r} not found.", "Use the commandId that execute-command answered."
    )
