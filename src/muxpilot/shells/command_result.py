"""What is told of a command: the answer of every tool that runs one."""

from __future__ import annotations

from muxpilot.records import record
from muxpilot.shells.command import Command, Status


@record
class CommandResult:
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
    def of(cls, command: Command, limit: int | None, *, timed_out: bool = False) -> CommandResult:
        """With head and tail of the output, or with all that is kept of it."""
        output, is_truncated = command.output.whole() if limit is None else command.output.excerpt(limit)
        return cls(
            command_id=command.id,
            pane_id=command.pane,
            command=command.text,
            status=command.status.value,
            exit_code=command.exit_code,
            output=output,
            output_bytes=command.output.size,
            output_truncated=is_truncated or command.output.lost > 0,
            timed_out=timed_out,
            elapsed_ms=round(command.elapsed_s * 1000),
            resource_uri=f"tmux://command/{command.id}/result",
            waiting_for_input=command.waiting_for is not None,
            reason=_reason(command),
        )

    @classmethod
    def lost(cls, pane: str, command: str, reason: str) -> CommandResult:
        """For a command that never came to be."""
        return cls(
            command_id="",
            pane_id=pane,
            command=command,
            status=Status.LOST.value,
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
    if command.output.lost:
        gap = "A part of the output was not seen: the pane's stream was interrupted."
        return f"{command.reason} {gap}" if command.reason else gap
    return command.reason
