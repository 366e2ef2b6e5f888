"""The output of a pane from the place where a job of another muxpilot stands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from muxpilot.errors import NotFound
from muxpilot.records import record
from muxpilot.tmux import Pane, PaneId, PaneStream, Tmux


@record
class KeptOutput:
    """A pane as it is now, None if it is gone, and two streams of it, which may be the same.

    `live` is the stream of the pane now, and `kept` the one that the job read, from its journal. It has ended
    if the pane is gone or another program was started in it. Each is None if there is no such stream.
    """

    pane: Pane | None
    live: PaneStream | None
    kept: PaneStream | None


@asynccontextmanager
async def open_kept_output(tmux: Tmux, pane: PaneId, journal: str) -> AsyncIterator[KeptOutput]:
    """Yield the streams of a pane; `journal` is the name of the one that the job read."""
    try:
        row = await tmux.panes.get(pane)
    except NotFound:
        yield KeptOutput(None, None, await tmux.streams.read_ended(pane, journal))
        return
    async with tmux.streams.open(pane) as stream:
        is_same = stream.name == journal
        kept = stream if is_same else await tmux.streams.read_ended(pane, journal)
        yield KeptOutput(row, stream, kept)
