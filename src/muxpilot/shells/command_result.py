"""The answer of every tool that runs a command."""

from __future__ import annotations

from muxpilot.records import record
from muxpilot.shells.command import Command, CommandStatus


@record
class CommandResult:
    """How a command is now, with its output or an excerpt of it."""

    command_id: str
    pane_id: str
    command: str
    status: str
    exit_code: int | None
    output: str
    output_bytes: int
    output_truncated: bool
    timed_out: bool
    elapsed_ms: int
    resource_uri: str
    waiting_for_input: bool
    reason: str | None

    @classmethod
    def from_command(
        cls, command: Command, limit: int | None, *, resource_uri: str, timed_out: bool = False
    ) -> CommandResult:
        """Return the result with at most `limit` bytes of output; None for all that are kept."""
        output, is_truncated = command.output.full_text() if limit is None else command.output.excerpt(limit)
        return cls(
            command_id=command.id,
            pane_id=command.pane,
            command=command.text,
            status=command.status.value,
            exit_code=command.exit_code,
            output=output,
            output_bytes=command.output.size,
            output_truncated=is_truncated or command.output.lost_bytes > 0,
            timed_out=timed_out,
            elapsed_ms=round(command.elapsed_s * 1000),
            resource_uri=resource_uri,
            waiting_for_input=command.waiting_for is not None,
            reason=_reason(command),
        )

    @classmethod
    def not_started(cls, pane: str, command: str, reason: str) -> CommandResult:
        """Return the result of a command that could not be submitted."""
        return cls(
            command_id="",
            pane_id=pane,
            command=command,
            status=CommandStatus.LOST.value,
            exit_code=None,
            output="",
            output_bytes=0,
            output_truncated=False,
            timed_out=False,
            elapsed_ms=0,
            resource_uri="",
            waiting_for_input=False,
            reason=reason,
        )


def _reason(command: Command) -> str | None:
    if command.output.lost_bytes:
        gap = "A part of the output was not seen: the pane's stream was interrupted."
        return f"{command.reason} {gap}" if command.reason else gap
    return command.reason
