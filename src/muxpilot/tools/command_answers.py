"""From a command to the answer of a tool: its output within limits, a cursor, the screen, and notes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from muxpilot.errors import MuxpilotError
from muxpilot.shells.command import Command
from muxpilot.shells.command_output import OutputPart
from muxpilot.shells.command_result import CommandResult
from muxpilot.terminal.screen_text import draws_rows
from muxpilot.tmux import PaneId, Tmux
from muxpilot.toolkit.resource_uris import command_result_uri
from muxpilot.tools.context import Context

if TYPE_CHECKING:
    from muxpilot.redaction.redactor import Redactor

# Output of a command in one answer, unless the caller wants more or less.
MAX_OUTPUT = 16384
# A program that waits for keys shows what it asks on the screen, not in its last line.
_TAKES_KEYS = ("key", "pager", "editor")
_TAKES_LINES = ("line", "password")
# So much of what the pane printed last is searched for signs of a full-screen program on the normal screen.
_SEARCHED_BYTES = 1 << 16


async def answer_command(
    ctx: Context,
    command: Command,
    limit: int | None,
    *,
    tmux: Tmux | None = None,
    offset: int | None = None,
    timed_out: bool = False,
    names_command: bool = False,
    may_open_pane: bool = False,
    note: str = "",
) -> CommandResult:
    """Return a command's result with at most `limit` bytes of output; None for all that are kept.

    `offset` asks for the output from that byte on. `tmux` is the command's server, if that is another one.
    A call that may open a pane answers whether it did. `note` is added to the reason.
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
        _take_output(command, limit, offset, ctx.services.redactor),
        pane=pane,
        resource_uri=command_result_uri(command.id),
        cursor=cursor,
        screen=screen,
        timed_out=timed_out,
        names_command=names_command,
        notes=notes,
        created=ctx.created if may_open_pane else None,
        last_note=note,
    )


def _take_output(
    command: Command, limit: int | None, offset: int | None, redactor: Redactor | None
) -> OutputPart:
    output, hide = command.output, redactor.redact_part if redactor is not None else None
    if offset is not None:
        return output.slice(offset, MAX_OUTPUT if limit is None else limit, hide)
    return OutputPart(*(output.full_text(hide) if limit is None else output.excerpt(limit, hide)))


async def _make_cursor(ctx: Context, tmux: Tmux, command: Command) -> str | None:
    """Return a cursor after the command's last byte, or after all that was read; None without a pane."""
    shell = ctx.services.shells.find_pane(tmux, command.pane)
    if shell is None:
        return await _make_cursor_of_other(ctx, tmux, command)
    if shell.end_reason is not None:
        return None
    read_offset = shell.pane.activity.read_offset
    offset = read_offset if command.end_offset is None else command.end_offset
    readers = ctx.services.pane_readers
    with suppress(MuxpilotError):  # the pane is gone
        if command.status.is_final:
            return await readers.make_cursor_in(tmux, shell.pane.row, offset)
        return await readers.make_cursor(tmux, command.pane, offset)
    return None


async def _make_cursor_of_other(ctx: Context, tmux: Tmux, command: Command) -> str | None:
    """Return the cursor of a command that another muxpilot has seen end, if its pane has the same stream."""
    if command.end_offset is None or not command.end_journal:
        return None
    with suppress(MuxpilotError):  # the pane is gone
        row = await tmux.panes.get(command.pane)
        cursor = await ctx.services.pane_readers.make_cursor_in(tmux, row, command.end_offset)
        return cursor if cursor.partition(".")[0] == command.end_journal else None
    return None


async def _read_screen(tmux: Tmux, command: Command) -> str:
    """Return the rows of a full-screen program that waits, without those that are blank."""
    kind = command.waiting_for
    if kind not in (*_TAKES_KEYS, *_TAKES_LINES):
        return ""
    with suppress(MuxpilotError):  # the pane is gone
        if kind == "key" and await _asks_in_last_line(tmux, command.pane):
            return ""
        if kind in _TAKES_LINES and not (await tmux.panes.get(command.pane)).is_alternate:
            return ""
        rows = await tmux.capture.rows_between(command.pane, 0, "-")
        return "\n".join(row.rstrip() for row in rows if row.strip())
    return ""


async def _asks_in_last_line(tmux: Tmux, pane: PaneId) -> bool:
    """Return whether the question is before the cursor, such as `press any key`, not on a whole screen."""
    stream = tmux.streams.find_stream(pane)
    recent = stream.read(stream.end - _SEARCHED_BYTES, stream.end) if stream is not None else b""
    is_full_screen = draws_rows(recent) or (await tmux.panes.get(pane)).is_alternate
    return not is_full_screen and bool((await tmux.capture.text_before_cursor(pane)).strip())
