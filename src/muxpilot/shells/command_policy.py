"""What this muxpilot's policy says about commands that other muxpilots were asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from muxpilot.records import mutable_record
from muxpilot.tmux import PaneId, Tmux


async def _may_run(tmux: Tmux, pane: PaneId, text: str) -> bool:
    return True


async def _may_show(tmux: Tmux, pane: PaneId) -> bool:
    return True


@mutable_record
class CommandPolicy:
    """Allows everything, until the application sets what its policy says.

    `may_run` tells whether a command may be run in a pane, `may_show` whether the commands of a pane may be
    listed. `text_closed_by` is the setting that forbids to show the text of panes.
    """

    may_run: Callable[[Tmux, PaneId, str], Awaitable[bool]] = _may_run
    may_show: Callable[[Tmux, PaneId], Awaitable[bool]] = _may_show
    text_closed_by: str | None = None
