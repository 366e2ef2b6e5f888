"""Where a watch begins in the output of a pane, and what is known then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from muxpilot.records import record
from muxpilot.tmux import Gap, PaneStream


class ScreenReader(Protocol):
    """Reads the screen of a watched pane."""

    async def read_line(self) -> str:
        """Return the text before the cursor."""

    async def read_changed_rows(self) -> bytes:
        """Return the rows that a full-screen program has changed, as lines; nothing if there is none."""


@record
class WatchStart:
    """Where a watch begins in the pane's stream, or in `command_stream`, which has one command's output.

    `stop` is called when the watch ends. `recently_typed` returns the texts that were typed into the pane
    lately, and `line_before` is the text before the cursor at the beginning. `has_begun` is false while the
    command waits in its queue, `is_incomplete` true if the shell waits for the rest of it.

    `is_past`: output from `offset` on was printed before the call; `line_before` is then the unfinished line
    at the offset. `pane_offset` returns how much of the pane's own stream is in `command_stream` so far.

    A watch that another muxpilot began has begun some seconds ago. `command_pid` is the program that was in
    the foreground then, and `gap` is what was printed since and is lost.

    `screen` is set where an input was typed after `offset`: what the pane's screen shows then counts too.
    """

    offset: int
    command_stream: PaneStream | None = None
    stop: Callable[[], Awaitable[None]] | None = None
    has_begun: Callable[[], bool] = lambda: True
    recently_typed: Callable[[], Sequence[str]] = tuple
    line_before: str = ""
    is_incomplete: Callable[[], bool] = lambda: False
    is_past: bool = False
    pane_offset: Callable[[], int] | None = None
    begun_s_ago: float = 0.0
    command_pid: int | None = None
    gap: Gap | None = None
    screen: ScreenReader | None = None
