"""Reading what panes show."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from muxpilot.errors import BadInput, NotFound
from muxpilot.patterns import matcher
from muxpilot.reading.pane_cursor import EVERYTHING
from muxpilot.reading.scrollback import scrollback
from muxpilot.records import record
from muxpilot.tmux import PaneId, SessionId
from muxpilot.tmux.objects.capture import without_blank_end
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.spec import PRIMITIVE, STARRED, Effect, tool

_FEW = 2000
_LONGEST_ROW = 1 << 16


@record
class NewText:
    pane_id: str
    text: str
    cursor: str
    new_lines: int
    missed_lines: int
    truncated: bool
    alternate_screen: bool


@record
class Match:
    pane_id: str
    line: int
    text: str
    before: list[str]
    after: list[str]


@record
class Matches:
    matches: list[Match]
    truncated: bool


@tool(Effect.READ, STARRED, "capture")
async def capture_pane(
    ctx: Context,
    pane_id: PaneId,
    lines: Annotated[int, "At most this many, the last ones", Between(1, 1000000)] = 200,
    colors: Annotated[bool, "Keep colour codes"] = False,  # noqa: FBT002
    start: Annotated[int | str | None, "First line: 0 is the screen's top, -5 above it, - the oldest"] = None,
    end: Annotated[int | str | None, "Last line, likewise"] = None,
    join: Annotated[bool, "Join wrapped lines"] = False,  # noqa: FBT002
) -> str:
    """Look once at what a pane shows now. To read on from where you were, use read-pane."""
    if start is None and end is None:
        rows = await ctx.tmux.capture.last(pane_id, lines, colors=colors, join=join)
    else:
        first, last = _line("start", start), _line("end", end)
        rows = await ctx.tmux.capture.between(pane_id, first, last, colors=colors, join=join)
        rows = without_blank_end(rows)
    return "\n".join(row[:_LONGEST_ROW] for row in rows)


def _line(argument: str, number: int | str | None) -> int | str | None:
    if number is not None and not re.fullmatch("-|-?[0-9]{1,9}", str(number)):
        raise BadInput(
            f"The argument {argument!r} must be a line number, not {str(number)[:20]!r}.",
            "Use 0 for the top of the screen, -5 for five above it, or - for all that way.",
        )
    return number


@tool(Effect.READ, STARRED, "capture")
async def read_pane(
    ctx: Context,
    pane_id: PaneId,
    since: Annotated[str | None, "The cursor of an earlier answer; without it, the last lines"] = None,
    max_lines: Annotated[int, "At most this many, the last ones", Between(1, 100000)] = 200,
    grep: Annotated[str | None, "Only lines that match this regex (RE2)"] = None,
) -> NewText:
    """Read only what a pane printed since the cursor: cheap to call again and again.

    `missedLines` are gone for good; `truncated` means that there was more than maxLines."""
    fits = matcher(grep, "regex", "grep") if grep is not None else None
    look_back = max_lines if fits is None else EVERYTHING
    reading = await ctx.journals.read(ctx.tmux, pane_id, since, look_back)
    wanted = reading.lines if fits is None else await _fitting(reading.lines, fits)
    kept = wanted[-max_lines:]
    is_cut = len(kept) < len(wanted) or any(len(row) > _LONGEST_ROW for row in kept)
    return NewText(
        pane_id,
        "\n".join(row[:_LONGEST_ROW] for row in kept),
        reading.cursor,
        len(reading.lines),
        reading.missed,
        reading.has_more or is_cut,
        reading.is_alternate,
    )


@tool(Effect.READ, PRIMITIVE, "capture")
async def search_panes(
    ctx: Context,
    query: Annotated[str, "What to find"],
    mode: Annotated[Literal["literal", "regex"], "regex is RE2"] = "literal",
    pane_ids: Annotated[list[PaneId] | None, "Only these panes"] = None,
    session_id: Annotated[SessionId | None, "Only this session's panes"] = None,
    max_matches: Annotated[int, "At most this many", Between(1, 10000)] = 50,
    context_lines: Annotated[int, "Lines before and after each", Between(0, 100)] = 2,
) -> Matches:
    """Search the whole scrollback of panes. `line` is a number that capture-pane takes as start or end."""
    fits = matcher(query, mode, "query")
    matches: list[Match] = []
    for pane in await _panes(ctx, pane_ids, session_id):
        try:
            matches += await _search(ctx, pane, fits, context_lines)
        except NotFound:
            if pane_ids is not None:
                raise
            continue  # it was listed and has gone since
        if len(matches) > max_matches:
            break
    return Matches(matches[:max_matches], truncated=len(matches) > max_matches)


async def _panes(ctx: Context, pane_ids: list[PaneId] | None, session: SessionId | None) -> list[PaneId]:
    """Those that were named, each once, as far as they are in the session that was named."""
    if pane_ids is not None and session is None:
        return list(dict.fromkeys(pane_ids))
    there = dict.fromkeys(row.id for row in await ctx.tmux.panes.list(session))
    named = there if pane_ids is None else dict.fromkeys(pane_ids)
    return [pane for pane in named if pane in there]


async def _search(ctx: Context, pane: PaneId, fits: Callable[[str], bool], context: int) -> list[Match]:
    whole = await scrollback(ctx.tmux, pane)
    lines = whole.texts
    hits = set(await _fitting(lines, fits))
    found = [at for at, text in enumerate(lines) if text in hits]
    return [
        Match(
            pane,
            whole.numbers[at],
            lines[at],
            lines[max(0, at - context) : at],
            lines[at + 1 : at + 1 + context],
        )
        for at in found
    ]


async def _fitting(lines: Sequence[str], fits: Callable[[str], bool]) -> list[str]:
    """The lines that match; many are looked at beside the event loop, not on it."""
    if len(lines) <= _FEW:
        return [line for line in lines if fits(line)]
    return await asyncio.to_thread(lambda: [line for line in lines if fits(line)])


TOOLS = (capture_pane, read_pane, search_panes)
