"""Waiting until something happens in a pane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from muxpilot.config.scope import Scope
from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.tmux import PaneId
from muxpilot.toolkit.argument_flags import Mark
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.spec import WORKFLOW, Effect, tool
from muxpilot.tools.state import PaneState
from muxpilot.watch.changes import until_quiet
from muxpilot.watch.mark_tracker import ends_in
from muxpilot.watch.probes import NAMES as READY
from muxpilot.watch.progress import MODES, RARELY, Mode, unheard
from muxpilot.watch.registry import Plan
from muxpilot.watch.result import WatchResult
from muxpilot.watch.start import running
from muxpilot.watch.triggers import Trigger, parse, readiness

LONGEST_S = 86_400
# Beyond what is waited for: typing, asking for the state, answering.
_BESIDES_S = 15.0
_HOUR_S = 3600

ModeName = Annotated[str, "Pace of progress: quick medium slow line bunch screen"]
Seconds = Annotated[float, "Seconds"]
Triggers = Annotated[
    str | list[str],
    "exit shell user_input password error bell idle:S pattern:RE port:N url:U file:P change quiet:MS",
]
Some = Annotated[str | list[str], "As in watch-pane"]
ONLY_ALL = frozenset({Scope.ALL})


def _deadline(arguments: Mapping[str, Any]) -> float:
    """Limits that stand in no schema: each number there is paid for by every client."""
    timeout_s = float(arguments["timeout"])
    if not 0 <= timeout_s <= LONGEST_S:
        raise BadInput(f"The argument 'timeout' must be from 0 to {LONGEST_S}.")
    return timeout_s + _BESIDES_S


@tool(Effect.TYPE, WORKFLOW, "watch", deadline_s=_deadline, tells_progress=True)
async def start_and_watch(
    ctx: Context,
    command: Annotated[str, "Typed at a prompt", Mark.SHELL],
    pattern: Annotated[str, "RE2 regex of the ready line"],
    pane_id: Annotated[PaneId | None, "Default: a new session"] = None,
    mode: ModeName = "quick",
    triggers: Some = "exit,error",
    timeout: Seconds = 60,  # noqa: ASYNC109 - the wire's name
) -> WatchResult:
    """Start a command and wait until it is ready, fails or ends."""
    if not command.strip():
        raise BadInput("The argument 'command' is empty.", "Give a command to type.")
    wanted, pace = (readiness(pattern), *(_parsed(ctx, triggers) if triggers else ())), _mode(mode)
    pane = pane_id or (await ctx.tmux.sessions.create()).pane_id
    plan = await _watched(ctx, pane, wanted, timeout_s=timeout, mode=pace)
    begin = running(command, ctx.shells, is_new=pane_id is None)
    return await ctx.watches.run(replace(plan, begin=begin))


@tool(Effect.READ, WORKFLOW, "watch", deadline_s=_deadline, tells_progress=True)
async def watch_pane(
    ctx: Context,
    pane_id: PaneId,
    mode: Annotated[str, "As in start-and-watch"] = "medium",
    triggers: Triggers = "exit,user_input,error",
    timeout: Seconds = 60,  # noqa: ASYNC109 - the wire's name
) -> WatchResult:
    """Wait for the first of the triggers; only new output counts."""
    wanted, pace = _parsed(ctx, triggers), _mode(mode)
    return await ctx.watches.run(await _watched(ctx, pane_id, wanted, timeout_s=timeout, mode=pace))


def _parsed(ctx: Context, triggers: str | Sequence[str]) -> tuple[Trigger, ...]:
    return parse(triggers, hosts=ctx.watches.limits.hosts)


def _mode(name: str) -> Mode:
    if name not in MODES:
        raise BadInput(f"The argument 'mode' must be one of {', '.join(MODES)}, not {name[:20]!r}.")
    return MODES[name]


async def _watched(
    ctx: Context, pane: PaneId, wanted: Sequence[Trigger], *, timeout_s: float, mode: Mode
) -> Plan:
    _refuse_here(ctx, wanted)
    return Plan(
        ctx.tmux,
        pane,
        wanted,
        timeout_s,
        PaneState.of,
        mode=mode,
        progress=ctx.caller.progress,
        told=ctx.caller.told,
        ends=await ends_in(ctx.tmux, pane, ctx.shells),
    )


def _refuse_here(ctx: Context, wanted: Sequence[Trigger]) -> None:
    """Ports, addresses and files are looked for on this machine, where the pane is not."""
    here = [trigger.word for trigger in wanted if trigger.name in READY]
    if here and ctx.tmux.is_far:
        raise BadInput(
            f"The trigger {here[0]!r} looks at this machine, and the pane is on another host.",
            "Use pattern: or exit there, or a command that waits for it.",
        )


@record
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
    deadline_s=lambda arguments: (arguments["timeout_ms"] or 1000 * LONGEST_S) / 1000 + _BESIDES_S,
)
async def wait_for_pane_change(
    ctx: Context,
    pane_id: PaneId,
    timeout_ms: Annotated[int | None, "At most this long; unset: 30000", Between(0, 1000 * LONGEST_S)] = None,
    stable_ms: Annotated[int | None, "Quiet so long after; unset: 250", Between(0, 1000 * LONGEST_S)] = None,
) -> PaneChange:
    """Wait until a pane has changed and is quiet again."""
    limits = ctx.watches.limits
    timeout_s, stable_s = limits.timeout_s(timeout_ms), limits.stable_s(stable_ms)
    change = await until_quiet(ctx.tmux, pane_id, timeout_s=timeout_s, stable_s=stable_s)
    return PaneChange(
        pane_id,
        change.has_changed,
        change.is_timed_out,
        round(change.waited_s * 1000),
        round(change.quiet_s * 1000),
    )


@record
class WatchStarted:
    watch_id: str


@record
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


@record
class WatchCancelled:
    watch_id: str
    cancelled: bool


WatchId = Annotated[str, "As notify-when answered it"]


@tool(Effect.CREATE, ONLY_ALL, "watch")
async def notify_when(
    ctx: Context,
    pane_id: PaneId,
    triggers: Triggers = "exit,user_input,error",
    timeout: Annotated[float, "Seconds", Between(0, 30 * LONGEST_S)] = _HOUR_S,  # noqa: ASYNC109 - likewise
) -> WatchStarted:
    """Watch a pane in the background: answers at once.

    The event comes by channel, by subscription to tmux://watch/ID, and by get-watch."""
    plan = await _watched(ctx, pane_id, _parsed(ctx, triggers), timeout_s=timeout, mode=RARELY)
    watch = await ctx.watches.start(replace(plan, progress=unheard))
    ctx.caller.keeps(watch)
    return WatchStarted(watch)


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
    )


@tool(Effect.CHANGE, ONLY_ALL, "watch")
async def cancel_watch(ctx: Context, watch_id: WatchId) -> WatchCancelled:
    """End a watch of notify-when; `cancelled` is false if it had ended already."""
    return WatchCancelled(watch_id, await ctx.watches.cancel(watch_id))


TOOLS = (start_and_watch, watch_pane, wait_for_pane_change, notify_when, get_watch, cancel_watch)

# Also offered where events are pushed, whatever the scope.
WITH_CHANNEL = frozenset({"notify-when", "get-watch", "cancel-watch"})
