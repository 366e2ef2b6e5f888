"""Tools that wait until something happens in a pane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from muxpilot.errors import BadInput, MuxpilotError
from muxpilot.records import record
from muxpilot.shells.type_command import validate_command
from muxpilot.tmux import PaneId, Tmux
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.spec import ONLY_ALL, WORKFLOW, Effect, tool
from muxpilot.tools.context import Context, MainPane, Services
from muxpilot.watch.background_watch import BackgroundWatch
from muxpilot.watch.changes import wait_until_quiet
from muxpilot.watch.mark_tracker import track_marks
from muxpilot.watch.progress import MODES, ProgressMode
from muxpilot.watch.registry import PlanTakenOver
from muxpilot.watch.result import WatchResult
from muxpilot.watch.start import start_command, start_since
from muxpilot.watch.trigger import Trigger
from muxpilot.watch.triggers import TRIGGERS, parse_triggers, readiness_trigger, refuse_local_triggers
from muxpilot.watch.watch_job import WatchWork, start_taken_over
from muxpilot.watch.watch_run import WatchListener, WatchPlan

LONGEST_S = 86_400
# For typing, reading the state and answering, besides the wait itself.
_BESIDES_S = 15.0
_HOUR_S = 3600

ModeName = Annotated[str, f"Progress: {' '.join(MODES)}"]
Seconds = Annotated[float, "Seconds"]
Triggers = Annotated[
    str | list[str],
    " ".join(row.example for row in TRIGGERS.values()),
]
SameTriggers = Annotated[str | list[str], "As in watch-pane"]


def _deadline(arguments: Mapping[str, Any]) -> float:
    """Check the timeout and return the deadline. A limit in the schema would cost every client tokens."""
    timeout_s = float(arguments["timeout"])
    if not 0 <= timeout_s <= LONGEST_S:
        raise BadInput(f"The argument 'timeout' must be from 0 to {LONGEST_S}.")
    return timeout_s + _BESIDES_S


async def _dry_run_start(
    ctx: Context,
    command: str,
    pattern: str,
    *,
    mode: str,
    triggers: str | Sequence[str],
    **_: object,
) -> Sequence[MuxpilotError]:
    """Raise BadInput for a command, a trigger or a mode that is none."""
    _plan_start(ctx, command, pattern, triggers=triggers, mode=mode)
    return ()


def _plan_start(
    ctx: Context, command: str, pattern: str, *, triggers: str | Sequence[str], mode: str
) -> tuple[tuple[Trigger, ...], ProgressMode]:
    """Return what start-and-watch waits for, and its mode."""
    validate_command(command)
    wanted = (readiness_trigger(pattern), *(_parse(ctx, triggers) if triggers else ()))
    _refuse_local_triggers(ctx, wanted)
    return wanted, _mode(mode)


@tool(
    Effect.TYPE,
    WORKFLOW,
    "watch",
    more_groups=("execute",),
    deadline_s=_deadline,
    reports_progress=True,
    dry_run=_dry_run_start,
    opens_pane=True,
)
async def start_and_watch(
    ctx: Context,
    command: Annotated[str, "Command line", ArgumentFlag.SHELL, ArgumentFlag.EVIDENT],
    pattern: Annotated[str, "RE2 regex of the ready line"],
    pane_id: MainPane,
    cwd: Annotated[str | None, "Of a new pane"] = None,
    env: Annotated[dict[str, str] | None, "Of a new pane"] = None,
    mode: ModeName = "quick",
    triggers: SameTriggers = "exit,error",
    timeout: Seconds = 60,  # noqa: ASYNC109 - the wire's name
) -> WatchResult:
    """Start a command and wait until it is ready, fails or ends."""
    wanted, pace = _plan_start(ctx, command, pattern, triggers=triggers, mode=mode)
    plan = await _make_plan(ctx, pane_id, wanted, timeout_s=timeout, mode=pace)
    start = start_command(command, ctx.services.shells, call=ctx.call)
    found = await ctx.services.watches.run(replace(plan, start=start))
    return replace(found, pane=await ctx.pane_name(pane_id), created=ctx.created)


@tool(Effect.READ, WORKFLOW, "watch", deadline_s=_deadline, reports_progress=True)
async def watch_pane(
    ctx: Context,
    pane_id: MainPane,
    mode: Annotated[str, "As in start-and-watch"] = "medium",
    triggers: Triggers = "exit,user_input,error",
    timeout: Seconds = 60,  # noqa: ASYNC109 - the wire's name
    since: Annotated[str | None, "cursor to start from"] = None,
) -> WatchResult:
    """Wait for the first trigger; only new output counts."""
    wanted, pace = _parse(ctx, triggers), _mode(mode)
    plan = await _make_plan(ctx, pane_id, wanted, timeout_s=timeout, mode=pace)
    if since is not None:
        position = await ctx.services.pane_readers.find_position(ctx.tmux, pane_id, since)
        plan = replace(plan, start=start_since(position))
    found = await ctx.services.watches.run(plan)
    return replace(found, pane=await ctx.pane_name(pane_id))


def _parse(ctx: Context, triggers: str | Sequence[str]) -> tuple[Trigger, ...]:
    return parse_triggers(triggers, hosts=ctx.services.watches.limits.hosts)


def _mode(name: str) -> ProgressMode:
    if name not in MODES:
        raise BadInput(f"The argument 'mode' must be one of {', '.join(MODES)}, not {name[:20]!r}.")
    return MODES[name]


async def _make_plan(
    ctx: Context,
    pane: PaneId,
    wanted: Sequence[Trigger],
    *,
    timeout_s: float,
    mode: ProgressMode | None = None,
) -> WatchPlan:
    """Return the plan of a watch; without a mode, it reports no progress."""
    _refuse_local_triggers(ctx, wanted)
    return WatchPlan(
        ctx.tmux,
        pane,
        wanted,
        timeout_s,
        marks=await track_marks(ctx.tmux, pane, ctx.services.shells),
        listener=(
            WatchListener(ctx.caller.progress, mode, ctx.caller.on_watch_end)
            if mode is not None
            else WatchListener(on_end=ctx.caller.on_watch_end)
        ),
        call=ctx.call,
        make_cursor=ctx.services.pane_readers.make_cursor,
    )


def plan_watches_of_others(services: Services) -> PlanTakenOver:
    """Return the function that plans a watch which another muxpilot began."""

    async def plan(tmux: Tmux, pane: PaneId, work: WatchWork) -> WatchPlan:
        """Make a plan that begins where the other muxpilot began."""
        return WatchPlan(
            tmux,
            pane,
            parse_triggers(work.triggers, hosts=services.watches.limits.hosts),
            work.timeout_s,
            start=start_taken_over(work),
            marks=await track_marks(tmux, pane, services.shells),
            make_cursor=services.pane_readers.make_cursor,
        )

    return plan


def _refuse_local_triggers(ctx: Context, wanted: Sequence[Trigger]) -> None:
    refuse_local_triggers(wanted, is_remote=ctx.tmux.is_remote)


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
    pane_id: MainPane,
    timeout_ms: Annotated[int | None, "Maximum wait; default: 30000", Between(0, 1000 * LONGEST_S)] = None,
    stable_ms: Annotated[
        int | None, "Required quiet time; default: 250", Between(0, 1000 * LONGEST_S)
    ] = None,
) -> PaneChange:
    """Wait until a pane has changed and is quiet again."""
    limits = ctx.services.watches.limits
    timeout_s, stable_s = limits.timeout_s(timeout_ms), limits.stable_s(stable_ms)
    change = await wait_until_quiet(ctx.tmux, pane_id, timeout_s=timeout_s, stable_s=stable_s)
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
    """The state of a watch. The event is present once it is done."""

    watch_id: str
    pane_id: str
    pane: str | None
    status: str
    event: str | None = None
    detail: str | None = None
    elapsed: float | None = None
    output: str | None = None
    pane_state: object | None = None
    cursor: str | None = None


@record
class WatchCancelled:
    watch_id: str
    cancelled: bool


WatchId = Annotated[str, "watchId from notify-when"]
LongSeconds = Annotated[float, "Seconds", Between(0, 30 * LONGEST_S)]


@tool(Effect.CREATE, ONLY_ALL, "watch", with_channel=True)
async def notify_when(
    ctx: Context,
    pane_id: MainPane,
    triggers: Triggers = "exit,user_input,error",
    timeout: LongSeconds = _HOUR_S,  # noqa: ASYNC109 - the wire's name
) -> WatchStarted:
    """Watch a pane in the background; returns at once.

    The event arrives by channel, by a subscription to tmux://watch/ID, and in get-watch."""
    plan = await _make_plan(ctx, pane_id, _parse(ctx, triggers), timeout_s=timeout)
    watch = await ctx.services.watches.start(plan)
    ctx.caller.own_watch(watch)
    return WatchStarted(watch)


@tool(Effect.READ, ONLY_ALL, "watch", with_channel=True)
async def get_watch(ctx: Context, watch_id: WatchId) -> WatchReport:
    """Get the status of a watch: watching, done (with its event) or cancelled."""
    kept = await _find_watch(ctx, watch_id)
    pane = await ctx.pane_name(kept.pane, kept.jobs.tmux)
    if kept.result is None:
        event = "lost" if kept.failure else None
        return WatchReport(
            watch_id=kept.id,
            pane_id=kept.pane,
            pane=pane,
            status=kept.status.value,
            event=event,
            detail=kept.failure,
        )
    found = kept.result
    return WatchReport(
        watch_id=kept.id,
        pane_id=found.pane_id,
        pane=pane,
        status=kept.status.value,
        event=found.event,
        detail=found.detail,
        elapsed=found.elapsed,
        output=found.output,
        pane_state=found.pane_state,
        cursor=found.cursor,
    )


@tool(Effect.CHANGE, ONLY_ALL, "watch", with_channel=True)
async def cancel_watch(ctx: Context, watch_id: WatchId) -> WatchCancelled:
    """Cancel a watch; `cancelled` is false if it had already ended."""
    await _find_watch(ctx, watch_id)
    return WatchCancelled(watch_id, await ctx.services.watches.cancel(watch_id))


async def _find_watch(ctx: Context, watch_id: str) -> BackgroundWatch:
    """Return a watch of whichever muxpilot. The policy of this one decides about watches of others."""
    found = await ctx.services.watches.find(ctx.tmux, watch_id)
    if not found.is_asked_here:
        await ctx.check_part(found.jobs.tmux, {"pane_id": found.pane})
    return found


TOOLS = (start_and_watch, watch_pane, wait_for_pane_change, notify_when, get_watch, cancel_watch)
