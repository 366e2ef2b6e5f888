"""The tool that runs one command in many panes, on many servers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from muxpilot.errors import BadInput, Denied, MuxpilotError
from muxpilot.records import record
from muxpilot.shells.command_result import CommandResult
from muxpilot.shells.type_command import validate_command
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.connection.connection import without_policy_filter
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.spec import DEADLINE_S, ONLY_ALL, Effect, tool
from muxpilot.tools.command_answers import MAX_OUTPUT, answer_command
from muxpilot.tools.context import Context

_LONGEST_S = 3600
_MOST_PANES = 256
_MOST_AT_ONCE = 64


@record
class PaneOnServer:
    """A pane. Without a socket it is on the server that the call names."""

    pane_id: PaneId
    socket: str | None = None

    @property
    def description(self) -> str:
        return self.pane_id if self.socket is None else f"{self.pane_id} on {self.socket}"


@record
class RunOnResult:
    results: list[CommandResult]
    completed: int
    failed: int


def _deadline(arguments: Mapping[str, Any]) -> float:
    """Allow each round of panes its own time: every one may be on a host that does not answer."""
    rounds = math.ceil(len(arguments["panes"]) / int(arguments["max_parallel"])) or 1
    return rounds * (DEADLINE_S + float(arguments["timeout_seconds"]))


async def _dry_run(
    ctx: Context, command: str, panes: Sequence[PaneOnServer], **_: object
) -> Sequence[MuxpilotError]:
    """Return the errors of all panes. A denial names its pane."""
    _validate(command, panes)
    found: list[MuxpilotError] = []
    for place in panes:
        try:
            tmux, pane = await _resolve_pane(ctx, place, command)
            await tmux.panes.get(pane)
        except Denied as error:
            found.append(Denied(run_on.name, error.key, f"{error.why}, for pane {place.description}"))
        except MuxpilotError as error:
            found.append(error)
    return found


@tool(Effect.TYPE, ONLY_ALL, "execute", deadline_s=_deadline, dry_run=_dry_run)
async def run_on(
    ctx: Context,
    command: Annotated[str, "As in execute-command", ArgumentFlag.SHELL],
    panes: Annotated[list[PaneOnServer], "Targets; socket is a path or a server name"],
    timeout_seconds: Annotated[float, "For each pane", Between(0, _LONGEST_S)] = 30,
    max_parallel: Annotated[int, "Panes at a time", Between(1, _MOST_AT_ONCE)] = 16,
) -> RunOnResult:
    """Run a command in many panes, on any servers. Returns results like execute-command, in the same order.

    A pane that cannot be reached has status `lost` and a reason; the others still run."""
    _validate(command, panes)
    room = asyncio.Semaphore(max_parallel)

    async def run(place: PaneOnServer) -> CommandResult:
        async with room:
            return await _run(ctx, place, command, timeout_seconds)

    results = await asyncio.gather(*(run(place) for place in panes))
    return RunOnResult(list(results), _count(results, "completed"), _count(results, "failed", "lost"))


def _validate(command: str, panes: Sequence[PaneOnServer]) -> None:
    """Raise BadInput for a command or a list of panes that cannot work."""
    validate_command(command)
    if not 1 <= len(panes) <= _MOST_PANES:
        raise BadInput(f"The argument 'panes' has {len(panes)} panes.", f"Give 1 to {_MOST_PANES}.")


async def _run(ctx: Context, place: PaneOnServer, command: str, timeout_s: float) -> CommandResult:
    shells = ctx.services.shells
    try:
        tmux, pane = await _resolve_pane(ctx, place, command)
        running = await shells.submit(tmux, pane, command, call=ctx.call)
        is_done = await shells.wait_for_result(running, timeout_s)
    except MuxpilotError as error:
        return CommandResult.not_started(place.pane_id, str(error))
    is_late = timeout_s > 0 and not is_done
    return await answer_command(ctx, running, MAX_OUTPUT, tmux=tmux, timed_out=is_late)


async def _resolve_pane(ctx: Context, place: PaneOnServer, command: str) -> tuple[Tmux, PaneId]:
    """Return the server and the id of a pane. Raise Denied if the command may not run there."""
    tmux = ctx.services.servers.get(place.socket) if place.socket is not None else ctx.tmux
    await ctx.check_part(tmux, {"command": command})  # before muxpilot sends that server a request
    with without_policy_filter():
        pane = await ctx.services.workspaces.resolve_pane(tmux, place.pane_id)
    assert isinstance(pane, PaneId)  # it may not be opened
    await ctx.check_part(tmux, {"command": command, "pane_id": pane})
    return tmux, pane


def _count(results: Sequence[CommandResult], *statuses: str) -> int:
    return sum(result.status in statuses for result in results)


TOOLS = (run_on,)
