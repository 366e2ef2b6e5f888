"""Running commands in a pane's own shell."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from muxpilot.errors import Refused
from muxpilot.records import record
from muxpilot.shells.command import Command
from muxpilot.shells.command_result import CommandResult
from muxpilot.tmux import PaneId, Tmux
from muxpilot.toolkit.argument_flags import Key, Mark
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.spec import DEADLINE_S, INTERNAL, PRIMITIVE, STARRED, Effect, tool

CommandId = Annotated[str, "From execute-command"]

_MAX_OUTPUT = 65536
_LONGEST_S = 3600
_MOST_OUTPUT = 1 << 20


@record
class CommandRow:
    command_id: str
    pane_id: str
    command: str
    status: str
    exit_code: int | None
    elapsed_ms: int


@record
class CommandList:
    commands: list[CommandRow]


def _execute_deadline(arguments: Mapping[str, Any]) -> float:
    wait_ms = arguments["wait_ms"]
    return DEADLINE_S + float(arguments["timeout_seconds"] if wait_ms is None else wait_ms / 1000)


@tool(Effect.TYPE, STARRED, "execute", deadline_s=_execute_deadline)
async def execute_command(
    ctx: Context,
    pane_id: PaneId,
    command: Annotated[str, "One line or many, as you would type it", Mark.SHELL],
    timeout_seconds: Annotated[float, "Then it goes on without you", Between(0, _LONGEST_S)] = 30,
    wait_ms: Annotated[int | None, "Wait only so long", Between(0, _LONGEST_S * 1000)] = None,
    raw_mode: Annotated[bool, "Only type it; track nothing"] = False,  # noqa: FBT002
    no_enter: Annotated[bool, "As rawMode, without Enter"] = False,  # noqa: FBT002
    delay_ms: Annotated[int | None, "Pause between characters", Between(0, 1000)] = None,
    max_output_bytes: Annotated[int, "Head and tail of more", Between(0, _MOST_OUTPUT)] = _MAX_OUTPUT,
) -> CommandResult:
    """Run a command in a pane's shell, also inside ssh or su there: its whole output and exit code.

    If it waits for input, answer it with send-keys, then call get-command-result."""
    if raw_mode or no_enter:
        return await _typed_only(ctx, pane_id, command, enter=not no_enter, delay_s=(delay_ms or 0) / 1000)
    running = await ctx.shells.submit(ctx.tmux, pane_id, command, delay_s=(delay_ms or 0) / 1000)
    timeout_s = timeout_seconds if wait_ms is None else min(timeout_seconds, wait_ms / 1000)
    is_told = await ctx.shells.wait(running, timeout_s)
    return CommandResult.of(running, max_output_bytes, timed_out=not is_told)


async def _typed_only(ctx: Context, pane: PaneId, text: str, *, enter: bool, delay_s: float) -> CommandResult:
    async with ctx.exclusive(ctx.tmux, pane):
        if delay_s:
            for char in text:
                await ctx.tmux.input.type(pane, char)
                await asyncio.sleep(delay_s)
            if enter:
                await ctx.tmux.input.press(pane, "Enter")
        else:
            await ctx.tmux.input.type(pane, text, enter=enter)
    return CommandResult.of(ctx.shells.untracked(ctx.tmux, pane, text), 0)


def _command(ctx: Context, command_id: str) -> Command:
    """A command belongs to the server that it was given to; a call that names another is refused."""
    command = ctx.shells.command(command_id)
    if ctx.names_server and command.socket != ctx.tmux.socket:
        raise Refused(
            f"Command {command_id!r} runs on another tmux server.", "Leave out socket, or give that server's."
        )
    return command


def _result_deadline(arguments: Mapping[str, Any]) -> float:
    return DEADLINE_S + float(arguments["wait_ms"]) / 1000


@tool(Effect.READ, STARRED, "track", deadline_s=_result_deadline)
async def get_command_result(
    ctx: Context,
    command_id: CommandId,
    wait_ms: Annotated[int, "Wait so long for its end", Between(0, _LONGEST_S * 1000)] = 0,
    max_output_bytes: Annotated[int, "Head and tail of more", Between(0, _MOST_OUTPUT)] = _MAX_OUTPUT,
) -> CommandResult:
    """Tell how a command is, or wait for it."""
    command = _command(ctx, command_id)
    is_told = await ctx.shells.look_again(command, wait_ms / 1000)
    return CommandResult.of(command, max_output_bytes, timed_out=wait_ms > 0 and not is_told)


@tool(Effect.READ, PRIMITIVE, "track")
async def list_commands(
    ctx: Context, pane_id: Annotated[PaneId | None, "Only of this pane"] = None
) -> CommandList:
    """List the commands that were run, the oldest first."""
    is_aimed = pane_id is not None or ctx.names_server
    commands = ctx.shells.commands(ctx.tmux.socket if is_aimed else None, pane_id)
    if pane_id is not None and not commands:
        await ctx.tmux.panes.get(pane_id)  # no command, or no such pane
    return CommandList([_row(command) for command in commands])


def _row(command: Command) -> CommandRow:
    return CommandRow(
        command_id=command.id,
        pane_id=command.pane,
        command=command.text,
        status=command.status.value,
        exit_code=command.exit_code,
        elapsed_ms=round(command.elapsed_s * 1000),
    )


@tool(Effect.TYPE, PRIMITIVE, "execute", types=lambda arguments: (Key("C-c"),))
async def cancel_command(ctx: Context, command_id: CommandId) -> CommandResult:
    """Interrupt a command with Ctrl-C, or take it out of the queue, and tell how it is then."""

    async def permit(tmux: Tmux, pane: PaneId) -> None:
        """Where the pane is now: it may have been moved since the command was allowed there."""
        await ctx.permit(tmux, {"pane_id": pane})

    command = _command(ctx, command_id)
    await ctx.shells.cancel(command, permit)
    return CommandResult.of(command, _MAX_OUTPUT)


@tool(Effect.READ, INTERNAL, "track")
async def command_result(ctx: Context, command_id: CommandId) -> CommandResult:
    """The same as get-command-result, with the whole output."""
    return CommandResult.of(_command(ctx, command_id), None)


TOOLS = (execute_command, get_command_result, list_commands, cancel_command, command_result)
