"""One command in many panes, on many servers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from muxpilot.errors import BadInput, MuxpilotError
from muxpilot.shells.results import CommandResult
from muxpilot.tmux import PaneId
from muxpilot.tmux.connection import unsifted
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.kinds import Between
from muxpilot.toolkit.marks import Mark
from muxpilot.toolkit.spec import DEADLINE_S, Effect, Scope, tool

_LONGEST_S = 3600
_MOST_PANES = 256
_MOST_AT_ONCE = 64
_MAX_OUTPUT = 65536


@dataclass(frozen=True, slots=True)
class PlaceOf:
    """A pane; without a socket, of the server that the call names."""

    pane_id: PaneId
    socket: str | None = None


@dataclass(frozen=True, slots=True)
class FleetResult:
    results: list[CommandResult]
    completed: int
    failed: int


def _deadline(arguments: Mapping[str, Any]) -> float:
    """Those that find no room at once wait for those that do."""
    turns = math.ceil(len(arguments["panes"]) / int(arguments["max_parallel"]))
    return DEADLINE_S + float(turns * arguments["timeout_seconds"])


@tool(Effect.TYPE, frozenset({Scope.ALL}), "execute", deadline_s=_deadline)
async def run_on(
    ctx: Context,
    command: Annotated[str, "As in execute-command", Mark.SHELL],
    panes: Annotated[list[PlaceOf], "Where; socket is a path or a server's name"],
    timeout_seconds: Annotated[float, "For each pane", Between(0, _LONGEST_S)] = 30,
    max_parallel: Annotated[int, "How many at a time", Between(1, _MOST_AT_ONCE)] = 16,
) -> FleetResult:
    """Run a command in many panes, on any servers: the answers of execute-command, in the order asked.

    A pane that cannot be reached has status lost and the reason; the others are not held back."""
    if not 1 <= len(panes) <= _MOST_PANES:
        raise BadInput(f"The argument 'panes' has {len(panes)} panes.", f"Give 1 to {_MOST_PANES}.")
    room = asyncio.Semaphore(max_parallel)

    async def run(place: PlaceOf) -> CommandResult:
        async with room:
            return await _run(ctx, place, command, timeout_seconds)

    results = await asyncio.gather(*(run(place) for place in panes))
    return FleetResult(list(results), _count(results, "completed"), _count(results, "failed", "lost"))


async def _run(ctx: Context, place: PlaceOf, command: str, timeout_s: float) -> CommandResult:
    try:
        tmux = ctx.servers.get(place.socket) if place.socket is not None else ctx.tmux
        await ctx.permit(tmux, {"command": command})  # before that server is asked anything
        with unsifted():
            pane = await tmux.targets.pane(place.pane_id)
        await ctx.permit(tmux, {"command": command, "pane_id": pane})
        running = await ctx.shells.submit(tmux, pane, command)
    except MuxpilotError as error:
        return CommandResult.lost(place.pane_id, command, str(error))
    is_told = await ctx.shells.wait(running, timeout_s)
    return CommandResult.of(running, _MAX_OUTPUT, timed_out=not is_told)


def _count(results: Sequence[CommandResult], *statuses: str) -> int:
    return sum(result.status in statuses for result in results)


TOOLS = (run_on,)
