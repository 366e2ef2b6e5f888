"""What a pane shows now, with all that a terminal needs to go on from there."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from muxpilot.errors import NotFound
from muxpilot.records import record
from muxpilot.terminal.safe_output import harmless
from muxpilot.tmux import PaneId, PaneStream, Tmux

_HISTORY = 200

_FACTS = (
    *("pane_id", "pane_width", "pane_height", "cursor_x", "cursor_y", "cursor_flag", "alternate_on"),
    *("scroll_region_upper", "scroll_region_lower", "origin_flag", "wrap_flag", "insert_flag"),
)
_ASK = " ".join(f"#{{{name}}}" for name in _FACTS)


@record
class Screen:
    """`history` are the lines above, where they were asked for."""

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

    def told(self) -> dict[str, Any]:
        return asdict(self)


async def look(tmux: Tmux, pane: PaneId, *, with_history: bool = False) -> Screen:
    start = str(-_HISTORY) if with_history else "0"
    reply = await tmux.connection.run(
        ("display-message", "-p", "-t", pane, _ASK),
        ("capture-pane", "-p", "-e", "-N", "-S", start, "-t", pane),
        repeatable=True,
    )
    identity, *numbers = reply.first_line.split() or [""]
    if identity != pane or len(numbers) != len(_FACTS) - 1:  # tmux answers for one that is not there, too
        raise NotFound("pane", pane)
    columns, rows, x, y, *rest = map(int, numbers)
    cursor, alternate, top, bottom, origin, wrap, insert = rest
    lines = [harmless(row.decode("utf-8", "replace")) for row in reply.blocks[1].lines]
    above = max(len(lines) - rows, 0)
    return Screen(
        *(columns, rows, x, y, bool(cursor), bool(alternate)),
        *(top, bottom, bool(origin), bool(wrap), bool(insert)),
        *(lines[above:], lines[:above]),
    )


async def look_at(
    tmux: Tmux, stream: PaneStream, *, with_history: bool = False, tries: int
) -> tuple[Screen, int, bool]:
    """The screen, the place in the stream that it belongs to, and whether nothing came in between.

    Of a pane that does not stop printing the newest place is taken: a little may then be missing.
    """
    for _ in range(tries):
        before = stream.end
        screen = await look(tmux, stream.pane, with_history=with_history)
        await tmux.streams.catch_up(stream.pane)
        if stream.end == before:
            return screen, before, True
    return screen, stream.end, False
