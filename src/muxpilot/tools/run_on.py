"""One command in many panes, on many servers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from muxpilot.config.scope import Scope
from muxpilot.errors import BadInput, Denied, MuxpilotError
from muxpilot.records import record
from muxpilot.shells.command_result import CommandResult
from muxpilot.shells.type_command import checked
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.connection.connection import unsifted
from muxpilot.toolkit.argument_flags import Mark
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.spec import DEADLINE_S, Effect, tool

_LONGEST_S = 3600
_MOST_PANES = 256
_MOST_AT_ONCE = 64
_MAX_OUTPUT = 65536


@record
class PaneOnServer:
    """A pane; without a socket, of the server that the call names."""

    pane_id: PaneId
    socket: str | None = None

    @property
    def words(self) -> str:
        return self.pane_id if self.socket is None else f"{self.pane_id} on {self.socket}"


@record
class FleetResult:
    results: list[CommandResult]
    completed: int
    failed: int


def _deadline(arguments: Mapping[str, Any]) -> float:
    """Those that find no room at once wait for those that do, each perhaps on a host that hangs."""
    turns = math.ceil(len(arguments["panes"]) / int(arguments["max_parallel"])) or 1
    return turns * (DEADLINE_S + float(arguments["timeout_seconds"]))


async def _foreseen(
    ctx: Context, command: str, panes: Sequence[PaneOnServer], **_: object
) -> Sequence[MuxpilotError]:
    """What each pane would meet; a denial says which pane it is about."""
    _require(command, panes)
    found: list[MuxpilotError] = []
    for place in panes:
        try:
            tmux, pane = await _aimed(ctx, place, command)
            await tmux.panes.get(pane)
        except Denied as error:
            found.append(Denied("run-on", error.key, f"{error.why}, for pane {place.words}"))
        except MuxpilotError as error:
            found.append(error)
    return found


@tool(Effect.TYPE, frozenset({Scope.ALL}), "execute", deadline_s=_deadline, foresees=_foreseen)
async def run_on(
    ctx: Context,
    command: Annotated[str, "As in execute-command", Mark.SHELL],
    panes: Annotated[list[PaneOnServer], "Where; socket is a path or a server's name"],
    timeout_seconds: Annotated[float, "For each pane", Between(0, _LONGEST_S)] = 30,
    max_parallel: Annotated[int, "How many at a time", Between(1, _MOST_AT_ONCE)] = 16,
) -> FleetResult:
    """Run a command in many panes, on any servers: the answers of execute-command, in the order asked.

    A pane that cannot be reached has status lost and the reason; the others are not held back."""
    _require(command, panes)
    room = asyncio.Semaphore(max_parallel)

    async def run(place: PaneOnServer) -> CommandResult:
        async with room:
            return await _run(ctx, place, command, timeout_seconds)

    results = await asyncio.gather(*(run(place) for place in panes))
    return FleetResult(list(results), _count(results, "completed"), _count(results, "failed", "lost"))


def _require(command: str, panes: Sequence[PaneOnServer]) -> None:
    """What no pane could take is no answer of any of them."""
    checked(command)
    if not 1 <= len(panes) <= _MOST_PANES:
        raise BadInput(f"The argument 'panes' has {len(panes)} panes.", f"Give 1 to {_MOST_PANES}.")


async def _run(ctx: Context, place: PaneOnServer, command: str, timeout_s: float) -> CommandResult:
    try:
        tmux, pane = await _aimed(ctx, place, command)
        running = await ctx.shells.submit(tmux, pane, command)
    except MuxpilotError as error:
        return CommandResult.lost(place.pane_id, command, str(error))
    is_told = await ctx.shells.wait(running, timeout_s)
    return CommandResult.of(running, _MAX_OUTPUT, timed_out=not is_told)


async def _aimed(ctx: Context, place: PaneOnServer, command: str) -> tuple[Tmux, PaneId]:
    """The pane that is meant, if the command may be run in it."""
    tmux = ctx.servers.get(place.socket) if place.socket is not None else ctx.tmux
    await ctx.permit(tmux, {"command": command})  # before that server is asked anything
    with unsifted():
        pane = await tmux.targets.pane(place.pane_id)
    await ctx.permit(tmux, {"command": command, "pane_id": pane})
    return tmux, pane


def _count(results: Sequence[CommandResult], *statuses: str) -> int:
    return sum(result.status in statuses for result in results)


TOOLS = (run_on,)
