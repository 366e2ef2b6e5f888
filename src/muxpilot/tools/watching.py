"""Waiting until something happens in a pane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from muxpilot.tmux import PaneId
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.kinds import Between
from muxpilot.toolkit.spec import WORKFLOW, Effect, Scope, tool
from muxpilot.tools.state import PaneState
from muxpilot.watch.changes import until_quiet
from muxpilot.watch.outcome import WatchResult
from muxpilot.watch.registry import Plan
from muxpilot.watch.starting import Begin, from_now, typing
from muxpilot.watch.telling import MODES
from muxpilot.watch.triggers import Trigger, parse, readiness

_DAY_S = 86_400
# Beyond what is waited for: typing, asking for the state, answering.
_BESIDES_S = 15.0
_HOUR_S = 3600

Mode = Annotated[Literal["quick", "medium", "slow", "line", "bunch", "screen"], "How often progress is told"]
Seconds = Annotated[float, "Seconds", Between(0, _DAY_S)]
Triggers = Annotated[
    str | list[str],
    "exit shell user_input password error bell idle:N pattern:RE port:N url:U file:PATH change quiet:MS",
]
Some = Annotated[str | list[str], "Which events end it, as for watch-pane"]
ONLY_ALL = frozenset({Scope.ALL})


def _deadline(arguments: Mapping[str, Any]) -> float:
    return float(arguments["timeout"]) + _BESIDES_S


@tool(Effect.TYPE, WORKFLOW, "watch", deadline_s=_deadline, tells_progress=True)
async def start_and_watch(
    ctx: Context,
    command: Annotated[str, "Typed at the shell's prompt"],
    pattern: Annotated[str, "Regex (RE2) of a line that says it is ready"],
    pane_id: Annotated[PaneId | None, "Where; without it, in a new session"] = None,
    mode: Mode = "quick",
    triggers: Some = "exit,error",
    timeout: Seconds = 60,  # noqa: ASYNC109 - the wire's name
) -> WatchResult:
    """Start a server or a long command, and wait until it is ready, fails or ends."""
    wanted = (readiness(pattern), *(parse(triggers) if triggers else ()))
    is_new = pane_id is None
    pane = pane_id or (await ctx.tmux.sessions.create()).pane_id
    begin = typing(command, ctx.exclusive, is_new=is_new)
    return await ctx.watches.run(_plan(ctx, pane, wanted, timeout, mode=mode, begin=begin))


@tool(Effect.READ, WORKFLOW, "watch", deadline_s=_deadline, tells_progress=True)
async def watch_pane(
    ctx: Context,
    pane_id: PaneId,
    mode: Mode = "medium",
    triggers: Triggers = "exit,user_input,error",
    timeout: Seconds = 60,  # noqa: ASYNC109 - the wire's name
) -> WatchResult:
    """Wait until one of the triggers happens in a pane; only new output counts."""
    return await ctx.watches.run(_plan(ctx, pane_id, parse(triggers), timeout, mode=mode))


def _plan(
    ctx: Context,
    pane: PaneId,
    wanted: Sequence[Trigger],
    timeout_s: float,
    *,
    mode: str,
    begin: Begin = from_now,
) -> Plan:
    return Plan(
        ctx.tmux,
        pane,
        wanted,
        timeout_s,
        PaneState.of,
        begin=begin,
        mode=MODES[mode],
        progress=ctx.caller.progress,
    )


@dataclass(frozen=True, slots=True)
class PaneChange:
    pane_id: str
    changed: bool
    timed_out: bool
    waited_ms: int
    quiet_ms: int


@tool(
    Effect.READ,
    ONLY_ALL,
    "watch",
    deadline_s=lambda arguments: arguments["timeout_ms"] / 1000 + _BESIDES_S,
)
async def wait_for_pane_change(
    ctx: Context,
    pane_id: PaneId,
    timeout_ms: Annotated[int, "At most this long", Between(0, 1000 * _DAY_S)] = 30_000,
    stable_ms: Annotated[int, "Quiet for so long after a change", Between(0, 1000 * _DAY_S)] = 250,
) -> PaneChange:
    """Wait until a pane has changed and is quiet again."""
    change = await until_quiet(ctx.tmux, pane_id, timeout_s=timeout_ms / 1000, stable_s=stable_ms / 1000)
    return PaneChange(
        pane_id,
        change.has_changed,
        change.is_timed_out,
        round(change.waited_s * 1000),
        round(change.quiet_s * 1000),
    )


@dataclass(frozen=True, slots=True)
class WatchStarted:
    watch_id: str


@dataclass(frozen=True, slots=True)
class WatchReport:
    """A watch; what it came to is there once it is done."""

    watch_id: str
    pane_id: str
    status: str
    event: str | None = None
    detail: str | None = None
    elapsed: float | None = None
    output: str | None = None
    pane_state: object | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class WatchCancelled:
    watch_id: str
    cancelled: bool


WatchId = Annotated[str, "As notify-when answered it"]


@tool(Effect.CREATE, ONLY_ALL, "watch")
async def notify_when(
    ctx: Context,
    pane_id: PaneId,
    triggers: Triggers = "exit,user_input,error",
    timeout: Annotated[float, "Seconds", Between(0, 30 * _DAY_S)] = _HOUR_S,  # noqa: ASYNC109 - likewise
) -> WatchStarted:
    """Watch a pane in the background: answers at once.

    The event comes by channel, by subscription to tmux://watch/ID, and by get-watch."""
    plan = Plan(ctx.tmux, pane_id, parse(triggers), timeout, PaneState.of)
    return WatchStarted(await ctx.watches.start(plan))


@tool(Effect.READ, ONLY_ALL, "watch")
async def get_watch(ctx: Context, watch_id: WatchId) -> WatchReport:
    """Tell how a watch of notify-when stands: watching, done or cancelled; done, with what happened."""
    kept = ctx.watches.get(watch_id)
    if kept.result is None:
        event = "lost" if kept.failure else None
        return WatchReport(kept.id, kept.plan.pane, kept.status, event, kept.failure)
    found = kept.result
    return WatchReport(
        kept.id,
        found.pane_id,
        kept.status,
        found.event,
        found.detail,
        found.elapsed,
        found.output,
        found.pane_state,
        found.note,
    )


@tool(Effect.CHANGE, ONLY_ALL, "watch")
async def cancel_watch(ctx: Context, watch_id: WatchId) -> WatchCancelled:
    """End a watch of notify-when; `cancelled` is false if it had ended already."""
    return WatchCancelled(watch_id, await ctx.watches.cancel(watch_id))


TOOLS = (start_and_watch, watch_pane, wait_for_pane_change, notify_when, get_watch, cancel_watch)

# Also offered where events are pushed, whatever the scope.
WITH_CHANNEL = frozenset({"notify-when", "get-watch", "cancel-watch"})
