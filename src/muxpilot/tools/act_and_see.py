"""`until` of the tools that type: wait for what the input does, and answer with what has changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Protocol, TypeVar

from muxpilot.processes.decide import WaitingFor
from muxpilot.records import record
from muxpilot.tmux import PaneId
from muxpilot.tmux.objects.capture import CapturedScreen
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.spec import DEADLINE_S
from muxpilot.tools.context import Context
from muxpilot.watch.act_and_see import ActWatch, ScreenChange, ScreenCursor
from muxpilot.watch.mark_tracker import track_marks
from muxpilot.watch.trigger import Trigger
from muxpilot.watch.triggers import UNTIL, parse_triggers, refuse_local_triggers

_LONGEST_MS = 3_600_000

Until = Annotated[str | None, "Wait for prompt, change, quiet:MS or a trigger; get what changed"]
UntilAgain = Annotated[str | None, "As in send-keys"]
TimeoutMs = Annotated[int, "For until", Between(0, _LONGEST_MS)]


@record
class ActAnswer:
    """The answer of a tool that types, with `until`. `reason` says how to leave a pager or an editor."""

    pane_id: str
    pane: str | None
    event: str
    changed: str
    cursor: ScreenCursor | None
    highlighted: list[str]
    alternate_screen: bool
    waiting_for: WaitingFor | None
    # Only of tools that can open a pane.
    created: bool | None = None
    reason: str = ""
    hint: str | None = None


class InputSent(Protocol):
    """What a tool that types answers without `until`."""

    @property
    def pane_id(self) -> str: ...


Sent = TypeVar("Sent", bound=InputSent)


def act_deadline(arguments: Mapping[str, Any]) -> float:
    """Allow the time of `until` besides that of typing."""
    return DEADLINE_S + (arguments["timeout_ms"] / 1000 if arguments["until"] is not None else 0.0)


def parse_until(ctx: Context, until: str) -> tuple[Trigger, ...]:
    """Return the triggers that an input waits for, or raise BadInput."""
    triggers = parse_triggers(until, hosts=ctx.services.watches.limits.hosts, argument=UNTIL)
    refuse_local_triggers(triggers, is_remote=ctx.tmux.is_remote)
    return triggers


def mask_screen(ctx: Context, shown: CapturedScreen) -> CapturedScreen:
    """Return a screen with a mark in each cell of a secret; the same screen where redaction is off."""
    redactor = ctx.services.redactor
    if redactor is None:
        return shown
    return replace(shown, lines=redactor.mask_rows(shown.lines, shown.columns))


async def act(
    ctx: Context,
    pane: PaneId,
    send: Callable[[], Awaitable[Sent]],
    *,
    until: str | None,
    timeout_ms: int,
    prepare: Callable[[], Awaitable[None]] | None = None,
) -> Sent | ActAnswer:
    """Hold the pane and send an input; with `until`, wait for what it does.

    `prepare` is awaited first. The pane is held before anything is awaited: later calls come after this one.
    """
    triggers = parse_until(ctx, until) if until is not None else ()
    async with AsyncExitStack() as streams:
        async with ctx.lock_pane(ctx.tmux, pane):
            if prepare is not None:
                await prepare()
            if until is None:
                return await send()
            watch = await _begin_watch(ctx, pane, streams)
            sent = await send()
        probes = ctx.services.watches.probes
        change = await watch.wait(triggers, timeout_s=timeout_ms / 1000, probes=probes)
    return await _answer(ctx, pane, sent, change)


async def _begin_watch(ctx: Context, pane: PaneId, streams: AsyncExitStack) -> ActWatch:
    """Watch a pane from now on. The exit stack closes its stream."""
    watches = ctx.services.watches
    row = await ctx.tmux.panes.get(pane)
    marks = await track_marks(ctx.tmux, pane, ctx.services.shells)
    watch = ActWatch(
        ctx.tmux,
        row,
        await streams.enter_async_context(ctx.tmux.streams.open(pane)),
        marks=marks,
        timing=watches.timing,
        call=ctx.call,
        mask=partial(mask_screen, ctx),
        find_continued=watches.find_continued,
    )
    await watch.begin()
    return watch


async def _answer(ctx: Context, pane: PaneId, sent: InputSent, change: ScreenChange) -> ActAnswer:
    return ActAnswer(
        pane_id=sent.pane_id,
        pane=await ctx.pane_name(pane),
        event=change.event,
        changed=change.changed,
        cursor=change.cursor,
        highlighted=change.highlighted,
        alternate_screen=change.alternate_screen,
        waiting_for=change.waiting_for,
        created=getattr(sent, "created", None),
        reason=change.reason,
        hint=getattr(sent, "hint", None),
    )
