"""Dialogues with programs that show a prompt, such as Python or psql."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from typing import Annotated, Any

from muxpilot.errors import BadInput, MuxpilotError, Refused
from muxpilot.processes.decide import WaitingFor
from muxpilot.records import record
from muxpilot.repl import ReplReply, run_dialogue
from muxpilot.shells.command import Command
from muxpilot.shells.command_phases import CommandStatus
from muxpilot.tmux import PaneId
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.toolkit.spec import WORKFLOW, Effect, tool
from muxpilot.tools.context import Context, MainPane

_LONGEST_S = 3600
_BESIDES_S = 15.0  # for typing and answering


@record
class ReplResult:
    """The answer of run-in-repl. `note` says what to do if the input is incomplete or more is asked for.

    `cursor` is None if the pane is gone, and `exit_code` unless the program has ended and its code is known.
    """

    pane_id: str
    pane: str | None
    output: str
    exited: bool
    exit_code: int | None
    timed_out: bool
    waiting_for: WaitingFor | None
    cursor: str | None
    note: str = ""
    screen: str = ""


def _deadline(arguments: Mapping[str, Any]) -> float:
    """Allow the timeout twice: once to wait for another input to the same pane."""
    timeout_s = float(arguments["timeout"])
    if not 0 <= timeout_s <= _LONGEST_S:
        raise BadInput(f"The argument 'timeout' must be from 0 to {_LONGEST_S}.")
    return 2 * timeout_s + _BESIDES_S


@tool(Effect.TYPE, WORKFLOW, "execute", deadline_s=_deadline)
async def run_in_repl(
    ctx: Context,
    pane_id: MainPane,
    input: Annotated[str, "Lines", ArgumentFlag.LINES],
    prompt_pattern: Annotated[str | None, "RE2 regex; default: the prompt shown now"] = None,
    timeout: Annotated[float, "Seconds"] = 10,  # noqa: ASYNC109 - the wire's name
) -> ReplResult:
    """Send input to a REPL (python, psql) or to any program that asks, and get its answer."""
    search = _compile_prompt(prompt_pattern)
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(timeout):
                await stack.enter_async_context(ctx.lock_dialogue(pane_id))
        except TimeoutError:
            raise Refused(
                f"Another input to pane {pane_id} still runs.", "Nothing was typed; try again later."
            ) from None
        await ctx.services.pane_readers.follow(ctx.tmux, pane_id)
        command = _find_running(ctx, pane_id)
        if command is None:  # a muxpilot that is gone may have started it
            await ctx.services.shells.finder.list_recorded(ctx.tmux, pane_id)
            command = _find_running(ctx, pane_id)
        before = await _read_line_before(ctx, pane_id)
        reply = await run_dialogue(
            ctx.tmux,
            pane_id,
            input,
            search=search,
            timeout_s=timeout,
            typing_lock=ctx.lock_pane,
            timing=ctx.services.repl_timing,
        )
    return ReplResult(
        pane_id=pane_id,
        pane=await ctx.pane_name(pane_id),
        output=_hide_rest_of_secret(ctx, before, reply.output),
        exited=reply.exited,
        exit_code=await _find_exit_code(ctx, reply, command),
        timed_out=reply.timed_out,
        waiting_for=reply.waiting_for,
        cursor=await _make_cursor(ctx, pane_id, reply.offset),
        note=reply.note or "",
        screen=reply.screen or "",
    )


async def _read_line_before(ctx: Context, pane: PaneId) -> str:
    """Return the text before the cursor, where secrets are redacted: half of one may stand there."""
    if ctx.services.redactor is None:
        return ""
    with suppress(MuxpilotError):  # the dialogue reports it
        return await ctx.tmux.capture.text_before_cursor(pane)
    return ""


def _hide_rest_of_secret(ctx: Context, before: str, output: str) -> str:
    """Return the output without the rest of a token that began before it.

    An output after a prompt such as `Password:` is no value of that name.
    """
    if ctx.services.redactor is None:
        return output
    hidden, shown = ctx.services.redactor.find_continued(before, output, counts_values=False)
    return shown + output[len(hidden) :]


def _find_running(ctx: Context, pane: PaneId) -> Command | None:
    """Return the command of ours that runs in a pane: of one inside another, the inner one."""
    commands = ctx.services.shells.list_commands(ctx.tmux.socket, pane)
    running = [command for command in commands if command.status is CommandStatus.RUNNING]
    return running[-1] if running else None


async def _find_exit_code(ctx: Context, reply: ReplReply, command: Command | None) -> int | None:
    if not reply.exited or command is None:
        return reply.exit_code
    await command.wait_for_end(ctx.services.repl_timing.exit_code_s)
    return command.exit_code


async def _make_cursor(ctx: Context, pane: PaneId, offset: int) -> str | None:
    with suppress(MuxpilotError):  # the pane is gone
        return await ctx.services.pane_readers.make_cursor(ctx.tmux, pane, offset)
    return None


def _compile_prompt(pattern: str | None) -> Any:
    if pattern is None:
        return None
    if not pattern:
        raise BadInput("The argument 'promptPattern' is empty.", "Give a pattern, or leave it out.")
    from muxpilot.patterns import compile_regex  # loads RE2

    return compile_regex(pattern, "promptPattern").search


TOOLS = (run_in_repl,)
