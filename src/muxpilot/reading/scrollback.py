"""A pane's whole text as lines, with the row at which each begins: one that the screen wrapped is whole."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from muxpilot.records import record
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.objects.capture import without_blank_end

_TRIES = 3
# A longer one, a whole file without a newline, is told row by row: nobody wants all of it for a word.
LONGEST_LINE = 4096


@record
class Scrollback:
    """The lines without the blanks at their ends, and tmux's number of each one's first row."""

    texts: list[str]
    numbers: list[int]


async def scrollback(tmux: Tmux, pane: PaneId) -> Scrollback:
    """tmux tells rows and lines in two answers; those of a pane that never rests may not fit: then rows."""
    for _ in range(_TRIES):
        rows, lines, row = await asyncio.gather(
            tmux.capture.padded(pane), tmux.capture.between(pane, "-", "-", join=True), tmux.panes.get(pane)
        )
        starts = _starts(rows, lines)
        if starts is not None:
            break
    top = max(0, len(rows) - row.height)
    starts = list(range(len(rows))) if starts is None else starts
    ends = [*starts[1:], len(rows)]
    texts = ["".join(rows[start:end]).rstrip(" ") for start, end in zip(starts, ends, strict=True)]
    texts = without_blank_end(texts)
    return Scrollback(texts, [start - top for start in starts[: len(texts)]])


def _starts(rows: Sequence[str], lines: Sequence[str]) -> list[int] | None:
    """At which rows the lines begin; None if these are not the rows of these lines."""
    starts: list[int] = []
    at = 0
    for line in lines:
        first, done = at, 0
        while at < len(rows) and (done < len(line) or at == first):
            if line[done : done + len(rows[at])].rstrip(" ") != rows[at].rstrip(" "):
                return None  # newer ones of tmux pad a row further than a line
            done += len(rows[at])
            at += 1
        if done < len(line):
            return None
        starts += [first] if done <= LONGEST_LINE else range(first, at)
    return starts if at == len(rows) else None
