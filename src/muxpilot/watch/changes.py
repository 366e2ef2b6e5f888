"""Waiting until a pane has changed and is quiet again."""

from __future__ import annotations

import asyncio

from muxpilot.records import record
from muxpilot.tmux import PaneId, Tmux
from muxpilot.trace import area
from muxpilot.watch.pane_watch import PaneWatch
from muxpilot.watch.start import start_now
from muxpilot.watch.trigger import TIMED_OUT
from muxpilot.watch.triggers import quiet_trigger


@record
class ChangeWait:
    """How a wait for a change went: `quiet_s` is how long nothing had changed when it ended."""

    has_changed: bool
    is_timed_out: bool
    waited_s: float
    quiet_s: float


async def wait_until_quiet(tmux: Tmux, pane: PaneId, *, timeout_s: float, stable_s: float) -> ChangeWait:
    """Wait until a pane has changed and then not changed for `stable_s` seconds."""
    row = await tmux.panes.get(pane)
    async with tmux.streams.open(pane) as stream:
        start = await start_now(tmux, row, stream)
        trace = area("watch").child(server=tmux.socket, pane=pane)
        watch = PaneWatch(row, start, triggers=[quiet_trigger(stable_s)], timeout_s=timeout_s, trace=trace)
        event = await watch.run(stream)
    now = asyncio.get_running_loop().time()
    since = watch.last_change if watch.last_change is not None else watch.began
    has_changed = watch.last_change is not None
    return ChangeWait(has_changed, event.event == TIMED_OUT, now - watch.began, now - since)
