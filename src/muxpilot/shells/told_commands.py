"""What answers have told about commands that may have opened a shell.

A caller that was told that `su` runs believes that its shell stands there. If it has ended since, the next
answer for the pane says so.
"""

from __future__ import annotations

from muxpilot.processes.shell_openers import find_shell_opener
from muxpilot.shells.command import Command
from muxpilot.shells.shell_binding import describe_end


class ToldCommands:
    """Commands that were told to run, and whose end no answer has told yet."""

    def __init__(self) -> None:
        self._running: dict[str, Command] = {}

    def take_notes(self, command: Command) -> tuple[str, ...]:
        """Return notes on commands of the same pane that opened a shell and have ended since the last answer.

        Each is told once: the caller may believe that its shell still stands there.
        """
        ended = [
            other
            for other in self._running.values()
            if (other.socket, other.pane) == (command.socket, command.pane)
            and other is not command
            and other.status.is_final
        ]
        for other in ended:
            del self._running[other.id]
        return tuple(describe_end(other) for other in ended if not other.is_end_told)

    def note_answer(self, command: Command) -> None:
        """Note what an answer has told about a command: that it runs, or how it ended."""
        if command.status.is_final:
            command.is_end_told = True
            self._running.pop(command.id, None)
        elif command.opened_shell or find_shell_opener(command.text) is not None:
            self._running[command.id] = command

    def forget(self, command_id: str) -> None:
        self._running.pop(command_id, None)
