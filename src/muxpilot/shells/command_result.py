"""The answer of every tool that runs a command."""

from __future__ import annotations

from muxpilot.records import record
from muxpilot.shells.command import Command
from muxpilot.shells.command_output import OutputPart
from muxpilot.shells.command_phases import CommandStatus


@record
class CommandResult:
    """How a command is now, with its output or an excerpt of it.

    `pane` is the name of the pane in the workspace. `cursor` is None if the pane is gone. The fields after it
    are there only where they say something: `created` where the call could open the pane, `output_bytes` and
    `resource_uri` where output is left out, `command` where the caller may not know it, `screen` where a
    full-screen program waits for keys.
    """

    command_id: str
    pane_id: str
    pane: str | None
    status: str
    exit_code: int | None
    output: str
    output_truncated: bool
    timed_out: bool
    waiting_for_input: bool
    waiting_for: str | None
    elapsed_ms: int
    cursor: str | None
    created: bool | None = None
    reason: str = ""
    output_bytes: int = 0
    resource_uri: str = ""
    command: str = ""
    screen: str = ""

    @classmethod
    def from_command(
        cls,
        command: Command,
        part: OutputPart,
        *,
        pane: str | None,
        resource_uri: str,
        cursor: str | None = None,
        screen: str = "",
        timed_out: bool = False,
        names_command: bool = False,
        notes: tuple[str, ...] = (),
        created: bool | None = None,
        last_note: str = "",
    ) -> CommandResult:
        """Return the result with a part of the output. Notes are added to the reason."""
        output = command.output
        return cls(
            command_id=command.id,
            pane_id=command.pane,
            pane=pane,
            status=command.status.value,
            exit_code=command.exit_code,
            output=part.text,
            output_truncated=part.is_cut or output.lost_bytes > 0,
            timed_out=timed_out,
            waiting_for_input=command.waiting_for is not None,
            waiting_for=_waiting_word(command),
            elapsed_ms=round(command.elapsed_s * 1000),
            cursor=cursor,
            created=created,
            reason=_join_reasons(command, *notes, part.note, *_record_notes(command), last_note),
            output_bytes=output.size if part.is_cut else 0,
            resource_uri=resource_uri if part.is_cut else "",
            command=command.text if names_command else "",
            screen=screen,
        )

    @classmethod
    def not_started(cls, pane: str, reason: str) -> CommandResult:
        """Return the result of a command that could not be submitted."""
        return cls(
            command_id="",
            pane_id=pane,
            pane=None,
            status=CommandStatus.LOST.value,
            exit_code=None,
            output="",
            output_truncated=False,
            timed_out=False,
            waiting_for_input=False,
            waiting_for=None,
            elapsed_ms=0,
            cursor=None,
            reason=reason,
        )


def _join_reasons(command: Command, *notes: str) -> str:
    return " ".join(filter(None, (command.reason, *notes)))


def _waiting_word(command: Command) -> str | None:
    """Return what the command waits for, in the words of pane-state: the rest of a command is a line."""
    return "line" if command.waiting_for == "rest" else command.waiting_for


def _record_notes(command: Command) -> list[str]:
    """Say what of the output was lost, and whether the command could not be written down."""
    output, notes = command.output, []
    if output.lost_bytes:
        notes.append(output.describe_loss())
    if output.disk_error:
        notes.append(f"A part of the output was not kept: {output.disk_error}.")
    return [*notes, command.record_note] if command.record_note else notes
