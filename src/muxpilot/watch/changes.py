"""Waiting until a pane has changed and is quiet again."""

from __future__ import annotations

import asyncio

from muxpilot.records import record
from muxpilot.tmux import PaneId, Tmux
from muxpilot.watch.start import from_now
from muxpilot.watch.triggers import Trigger
from muxpilot.watch.watch import Watch


@record
class Change:
    """Whether it changed; how long it was waited for, and how long nothing had changed at the end."""

    has_changed: bool
    is_timed_out: bool
    waited_s: float
    quiet_s: float


async def until_quiet(tmux: Tmux, pane: PaneId, *, timeout_s: float, stable_s: float) -> Change:
    row = await tmux.panes.get(pane)
    trigger = Trigger("quiet", "quiet", number=stable_s * 1000)
    async with tmux.streams.open(pane) as stream:
        start = await from_now(tmux, row, stream)
        watch = Watch(row, start, triggers=[trigger], timeout_s=timeout_s)
        fired = await watch.run(stream)
    now = asyncio.get_running_loop().time()
    since = watch.last_change if watch.last_change is not None else watch.began
    has_changed = watch.last_change is not None
    return Change(has_changed, fired.event == "timeout", now - watch.began, now - since)
