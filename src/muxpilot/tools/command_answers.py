"""From a command to the answer of a tool: its output within limits, a cursor, the screen, and notes."""

from __future__ import annotations

from contextlib import suppress

from muxpilot.errors import MuxpilotError
from muxpilot.shells.command import Command
from muxpilot.shells.command_output import OutputPart
from muxpilot.shells.command_result import CommandResult
from muxpilot.tmux import PaneId, Tmux
from muxpilot.toolkit.resource_uris import command_result_uri
from muxpilot.tools.context import Context

# Output of a command in one answer, unless the caller wants more or less.
MAX_OUTPUT = 16384
# A program that waits for keys shows what it asks on the screen, not in its last line.
_TAKES_KEYS = ("key", "pager", "editor")


async def answer_command(
    ctx: Context,
    command: Command,
    limit: int | None,
    *,
    tmux: Tmux | None = None,
    offset: int | None = None,
    timed_out: bool = False,
    names_command: bool = False,
) -> CommandResult:
    """Return a command's result with at most `limit` bytes of output; None for all that are kept.

    `offset` asks for the output from that byte on. `tmux` is the command's server, if that is another one.
    """
    tmux = tmux or ctx.services.shells.find_server(command) or ctx.tmux
    pane = await ctx.pane_name(command.pane, tmux)
    notes = ctx.services.shells.told_commands.take_notes(command)
    cursor = await _make_cursor(ctx, tmux, command)
    screen = await _read_screen(tmux, command)
    # No await from here on: the command may end, and its output must be that of the status that is told.
    ctx.services.shells.told_commands.note_answer(command)
    return CommandResult.from_command(
        command,
        _take_output(command, limit, offset),
        pane=pane,
        resource_uri=command_result_uri(command.id),
        cursor=cursor,
        screen=screen,
        timed_out=timed_out,
        names_command=names_command,
        notes=notes,
    )


def _take_output(command: Command, limit: int | None, offset: int | None) -> OutputPart:
    if offset is not None:
        return command.output.slice(offset, MAX_OUTPUT if limit is None else limit)
    return OutputPart(*(command.output.full_text() if limit is None else command.output.excerpt(limit)))


async def _make_cursor(ctx: Context, tmux: Tmux, command: Command) -> str | None:
    """Return a cursor after the command's last byte, or after all that was read; None without a pane."""
    shell = ctx.services.shells.find_pane(tmux, command.pane)
    if shell is None or shell.end_reason is not None:
        return None
    read_offset = shell.pane.activity.read_offset
    offset = read_offset if command.end_offset is None else command.end_offset
    readers = ctx.services.pane_readers
    with suppress(MuxpilotError):  # the pane is gone
        if command.status.is_final:
            return await readers.make_cursor_in(tmux, shell.pane.row, offset)
        return await readers.make_cursor(tmux, command.pane, offset)
    return None


async def _read_screen(tmux: Tmux, command: Command) -> str:
    """Return the rows of a full-screen program that waits, without those that are blank."""
    if command.waiting_for not in _TAKES_KEYS:
        return ""
    with suppress(MuxpilotError):  # the pane is gone
        if command.waiting_for == "key" and await _asks_in_last_line(tmux, command.pane):
            return ""
        rows = await tmux.capture.rows_between(command.pane, 0, "-")
        return "\n".join(row.rstrip() for row in rows if row.strip())
    return ""


async def _asks_in_last_line(tmux: Tmux, pane: PaneId) -> bool:
    """Return whether the question is before the cursor, such as `press any key`, not on a whole screen."""
    is_full_screen = (await tmux.panes.get(pane)).is_alternate
    return not is_full_screen and bool((await tmux.capture.text_before_cursor(pane)).strip())
