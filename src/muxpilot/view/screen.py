"""A snapshot of a pane's screen with the state that a terminal needs to continue from there."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from muxpilot.errors import NotFound
from muxpilot.records import record
from muxpilot.terminal.capture_text import decode_screen_rows
from muxpilot.terminal.safe_output import make_safe
from muxpilot.tmux import PaneId, PaneStream, Tmux

_HISTORY = 200

_FACTS = (
    *("pane_id", "pane_width", "pane_height", "cursor_x", "cursor_y", "cursor_flag", "alternate_on"),
    *("scroll_region_upper", "scroll_region_lower", "origin_flag", "wrap_flag", "insert_flag"),
)
_ASK = " ".join(f"#{{{name}}}" for name in _FACTS)


@record
class ScreenSnapshot:
    """The screen of a pane; `history` has the lines above it, if they were requested."""

    columns: int
    rows: int
    x: int
    y: int
    cursor: bool
    alternate: bool
    top: int
    bottom: int
    origin: bool
    wrap: bool
    insert: bool
    lines: list[str]
    history: list[str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


async def take_snapshot(tmux: Tmux, pane: PaneId, *, with_history: bool = False) -> ScreenSnapshot:
    """Capture the screen of a pane in one request to tmux."""
    start = str(-_HISTORY) if with_history else "0"
    reply = await tmux.connection.run(
        ("display-message", "-p", "-t", pane, _ASK),
        ("capture-pane", "-p", "-e", "-N", "-S", start, "-t", pane),
        repeatable=True,
    )
    identity, *numbers = reply.first_line.split() or [""]
    if identity != pane or len(numbers) != len(_FACTS) - 1:  # tmux also answers for a pane that is gone
        raise NotFound("pane", pane)
    columns, rows, x, y, *rest = map(int, numbers)
    cursor, alternate, top, bottom, origin, wrap, insert = rest
    lines = [make_safe(row) for row in decode_screen_rows(reply.blocks[1].lines)]
    above = max(len(lines) - rows, 0)
    return ScreenSnapshot(
        *(columns, rows, x, y, bool(cursor), bool(alternate)),
        *(top, bottom, bool(origin), bool(wrap), bool(insert)),
        *(lines[above:], lines[:above]),
    )


async def take_snapshot_of_stream(
    tmux: Tmux, stream: PaneStream, *, with_history: bool = False, tries: int
) -> tuple[ScreenSnapshot, int, bool]:
    """Return the screen, its offset in the stream, and whether that offset is exact.

    It is exact if nothing was printed meanwhile. Otherwise the newest offset is returned, and a little output
    may be missing.
    """
    for _ in range(tries):
        before = stream.end
        screen = await take_snapshot(tmux, stream.pane, with_history=with_history)
        await tmux.streams.catch_up(stream.pane)
        if stream.end == before:
            return screen, before, True
    return screen, stream.end, False
