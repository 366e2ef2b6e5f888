"""Read the whole scrollback of a pane as lines; a line that tmux wrapped into several rows is joined."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from muxpilot.records import record
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.objects.capture import strip_trailing_blank_rows

_TRIES = 3
# A longer line, such as a file without newlines, is returned row by row: a search needs only a part of it.
LONGEST_LINE = 4096


@record
class Scrollback:
    """The lines without trailing blanks, and tmux's number of the first row of each line."""

    texts: list[str]
    numbers: list[int]


async def read_scrollback(tmux: Tmux, pane: PaneId) -> Scrollback:
    """Read the scrollback and the screen.

    Rows and joined lines come from two captures. If the pane printed in between and they still disagree after
    three tries, each row becomes a line.
    """
    for _ in range(_TRIES):
        rows, lines, row = await asyncio.gather(
            tmux.capture.padded_rows(pane),
            tmux.capture.rows_between(pane, "-", "-", join=True),
            tmux.panes.get(pane),
        )
        starts = _find_line_starts(rows, lines)
        if starts is not None:
            break
    top = max(0, len(rows) - row.height)
    starts = list(range(len(rows))) if starts is None else starts
    ends = [*starts[1:], len(rows)]
    texts = ["".join(rows[start:end]).rstrip(" ") for start, end in zip(starts, ends, strict=True)]
    texts = strip_trailing_blank_rows(texts)
    return Scrollback(texts, [start - top for start in starts[: len(texts)]])


def _find_line_starts(rows: Sequence[str], lines: Sequence[str]) -> list[int] | None:
    """Return the row at which each line begins; None if these are not the rows of these lines."""
    starts: list[int] = []
    at = 0
    for line in lines:
        first, done = at, 0
        while at < len(rows) and (done < len(line) or at == first):
            if line[done : done + len(rows[at])].rstrip(" ") != rows[at].rstrip(" "):
                return None  # only blanks may differ: newer versions of tmux pad a row further than a line
            done += len(rows[at])
            at += 1
        if done < len(line):
            return None
        starts += [first] if done <= LONGEST_LINE else range(first, at)
    return starts if at == len(rows) else None
