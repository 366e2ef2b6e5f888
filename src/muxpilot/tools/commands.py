"""Tools that run commands in the shells of panes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from muxpilot.errors import Denied, MuxpilotError, Refused
from muxpilot.records import record
from muxpilot.shells.command import Command
from muxpilot.shells.command_records import RecordedCommand
from muxpilot.shells.command_result import CommandResult
from muxpilot.shells.type_command import validate_command
from muxpilot.tmux import PaneId, Tmux
from muxpilot.toolkit.argument_flags import ArgumentFlag, PressedKey
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.spec import DEADLINE_S, INTERNAL, PRIMITIVE, STARRED, Effect, tool
from muxpilot.tools.command_answers import MAX_OUTPUT, answer_command
from muxpilot.tools.context import Context, MainPane

CommandId = Annotated[str, "From execute-command"]

_LONGEST_S = 3600
_MOST_OUTPUT = 1 << 20
_NS_PER_S = 1_000_000_000
_LAST_BYTE = 1 << 40
_NOT_APPLIED = "The pane was open already, so cwd and env were not applied."


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


async def _dry_run(
    ctx: Context, command: str, *, raw_mode: bool, no_enter: bool, **_: object
) -> Sequence[MuxpilotError]:
    """Raise BadInput for a command that no shell can run."""
    if not raw_mode and not no_enter:
        validate_command(command)
    return ()


@tool(Effect.TYPE, STARRED, "execute", deadline_s=_execute_deadline, dry_run=_dry_run, opens_pane=True)
async def execute_command(
    ctx: Context,
    pane_id: MainPane,
    command: Annotated[str, "One line or many, as typed", ArgumentFlag.SHELL],
    timeout_seconds: Annotated[float, "The command goes on after it", Between(0, _LONGEST_S)] = 30,
    wait_ms: Annotated[int | None, "Wait at most this long", Between(0, _LONGEST_S * 1000)] = None,
    queue: Annotated[bool, "Wait for an occupied pane"] = False,
    cwd: Annotated[str | None, "Of a new pane"] = None,
    env: Annotated[dict[str, str] | None, "Of a new pane"] = None,
    raw_mode: Annotated[bool, "Only type it"] = False,
    no_enter: Annotated[bool, "rawMode without Enter"] = False,
    delay_ms: Annotated[int | None, "Pause between characters", Between(0, 1000)] = None,
    max_output_bytes: Annotated[
        int, "Longer output is cut in the middle", Between(0, _MOST_OUTPUT)
    ] = MAX_OUTPUT,
) -> CommandResult:
    """Run a command in a pane's shell, also inside ssh or su. Returns its whole output and exit code.

    If it waits for input: send-keys, then get-command-result."""
    if raw_mode or no_enter:
        typed = await _type_only(ctx, pane_id, command, enter=not no_enter, delay_s=(delay_ms or 0) / 1000)
        return replace(typed, created=ctx.created)
    running = await ctx.services.shells.submit(
        ctx.tmux, pane_id, command, delay_s=(delay_ms or 0) / 1000, may_queue=queue, call=ctx.call
    )
    timeout_s = timeout_seconds if wait_ms is None else min(timeout_seconds, wait_ms / 1000)
    is_done = await ctx.services.shells.wait_for_result(running, timeout_s)
    is_ignored = not ctx.created and (cwd is not None or env is not None)
    return await answer_command(
        ctx,
        running,
        max_output_bytes,
        timed_out=timeout_s > 0 and not is_done,
        may_open_pane=True,
        note=_NOT_APPLIED if is_ignored else "",
    )


async def _type_only(ctx: Context, pane: PaneId, text: str, *, enter: bool, delay_s: float) -> CommandResult:
    async with ctx.lock_pane(ctx.tmux, pane):
        ctx.services.shells.agent_lines.note_text(ctx.tmux, pane, f"{text}\n" if enter else text)
        if delay_s:
            for char in text:
                await ctx.tmux.input.type(pane, char)
                await ctx.pause_typing(pane, delay_s)
            if enter:
                await ctx.tmux.input.press(pane, "Enter")
        else:
            await ctx.tmux.input.type(pane, text, enter=enter)
    return await answer_command(ctx, ctx.services.shells.add_untracked(ctx.tmux, pane, text), 0)


async def _find_command(ctx: Context, command_id: str) -> Command:
    """Return a command. Refuse a call that names another server than the one where the command runs."""
    command = await ctx.services.shells.finder.find_command(ctx.tmux, command_id)
    if ctx.names_server and command.socket != ctx.tmux.socket:
        raise Refused(
            f"Command {command_id!r} runs on another tmux server.",
            "Leave out socket, or give the socket of that server.",
        )
    if command.is_restored:
        await _check_restored(ctx, command)
    return command


async def _check_restored(ctx: Context, command: Command) -> None:
    """Raise Denied if the policy of this muxpilot hides what another one has run."""
    key = ctx.services.shells.policy.text_closed_by
    if key is not None:
        raise Denied(f"The output of command {command.id!r}", key, "another muxpilot was asked for it")
    await ctx.check_part(ctx.tmux, {"pane_id": command.pane})


def _result_deadline(arguments: Mapping[str, Any]) -> float:
    return DEADLINE_S + float(arguments["wait_ms"]) / 1000


@tool(Effect.READ, STARRED, "track", deadline_s=_result_deadline)
async def get_command_result(
    ctx: Context,
    command_id: CommandId,
    wait_ms: Annotated[int, "Wait this long for its end", Between(0, _LONGEST_S * 1000)] = 0,
    max_output_bytes: Annotated[int, "As in execute-command", Between(0, _MOST_OUTPUT)] = MAX_OUTPUT,
    offset_bytes: Annotated[int | None, "Output from this byte on", Between(0, _LAST_BYTE)] = None,
) -> CommandResult:
    """Get the status and output of a command, or wait for its end."""
    command = await _find_command(ctx, command_id)
    is_done = await ctx.services.shells.recheck_and_wait(command, wait_ms / 1000)
    return await answer_command(
        ctx,
        command,
        max_output_bytes,
        offset=offset_bytes,
        timed_out=wait_ms > 0 and not is_done,
        names_command=True,
    )


@tool(Effect.READ, PRIMITIVE, "track", more_groups=("list",))
async def list_commands(
    ctx: Context, pane_id: Annotated[PaneId | None, "Only of this pane"] = None
) -> CommandList:
    """List the commands that were run, oldest first."""
    names_one_server = pane_id is not None or ctx.names_server
    recorded = await ctx.services.shells.finder.list_recorded(ctx.tmux, pane_id)
    commands = ctx.services.shells.list_commands(ctx.tmux.socket if names_one_server else None, pane_id)
    if pane_id is not None and not commands and not recorded:
        await ctx.tmux.panes.get(pane_id)  # raises NotFound if there is no such pane
    find_server, here = ctx.services.servers.find, ctx.tmux
    rows = [(one.submitted_at, find_server(one.socket), one.pane, _command_row(one)) for one in commands]
    rows += [(row.asked_ns / _NS_PER_S, here, pane, _recorded_row(pane, row)) for pane, row in recorded]
    rows.sort(key=lambda row: row[0])
    # Another muxpilot may have run commands in panes that the policy of this one hides.
    may_show = ctx.services.shells.policy.may_show
    return CommandList(
        [row for _, tmux, pane, row in rows if tmux is not None and await may_show(tmux, pane)]
    )


def _command_row(command: Command) -> CommandRow:
    return CommandRow(
        command_id=command.id,
        pane_id=command.pane,
        command=command.text,
        status=command.status.value,
        exit_code=command.exit_code,
        elapsed_ms=round(command.elapsed_s * 1000),
    )


def _recorded_row(pane: PaneId, recorded: RecordedCommand) -> CommandRow:
    assert recorded.end is not None
    return CommandRow(
        command_id=recorded.id,
        pane_id=pane,
        command=recorded.text,
        status=recorded.end.status,
        exit_code=recorded.end.exit_code,
        elapsed_ms=round((recorded.end.ended_ns - recorded.asked_ns) / 1_000_000),
    )


@tool(Effect.TYPE, PRIMITIVE, "execute", typed_input=lambda arguments: (PressedKey("C-c"),))
async def cancel_command(ctx: Context, command_id: CommandId) -> CommandResult:
    """Interrupt a command with Ctrl-C, or remove it from the queue. Returns its result."""

    async def check_pane(tmux: Tmux, pane: PaneId) -> None:
        """Check the pane again: it may have been moved since the command was allowed."""
        await ctx.check_part(tmux, {"pane_id": pane})

    command = await _find_command(ctx, command_id)
    await ctx.services.shells.cancel(command, check_pane)
    return await answer_command(ctx, command, MAX_OUTPUT)


@tool(Effect.READ, INTERNAL, "track", stands_for=("get-command-result",))
async def command_result(ctx: Context, command_id: CommandId) -> CommandResult:
    """Get the status of a command with its whole output."""
    return await answer_command(ctx, await _find_command(ctx, command_id), None, names_command=True)


TOOLS = (execute_command, get_command_result, list_commands, cancel_command, command_result)
