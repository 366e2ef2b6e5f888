"""Tools that read the text of panes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from muxpilot.errors import BadInput, NotFound
from muxpilot.patterns import compile_matcher
from muxpilot.reading.pane_cursor import ALL_LINES
from muxpilot.reading.scrollback import read_scrollback
from muxpilot.records import record
from muxpilot.terminal.sanitize import sanitize_text
from muxpilot.tmux import PaneId, SessionId
from muxpilot.tmux.objects.capture import keep_last, strip_trailing_blank_rows
from muxpilot.toolkit.answers import RedactedText
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.spec import PRIMITIVE, STARRED, Effect, tool
from muxpilot.tools.context import Context, MainPane
from muxpilot.watch.line_matcher import LineMatcher

if TYPE_CHECKING:
    from muxpilot.redaction.redactor import Redactor

_FEW_LINES = 2000  # more are matched in a thread, beside the event loop
_LONGEST_ROW = 1 << 16
# Rows above and below a range that are searched for secrets with it.
_MARGIN_ROWS = 60


@record
class NewPaneText:
    pane_id: str
    text: str
    cursor: str
    new_lines: int
    missed_lines: int
    truncated: bool
    alternate_screen: bool


@record
class PaneMatch:
    pane_id: str
    line: int
    text: str
    before: list[str]
    after: list[str]


@record
class PaneMatches:
    matches: list[PaneMatch]
    truncated: bool


@tool(Effect.READ, STARRED, "capture")
async def capture_pane(
    ctx: Context,
    pane_id: MainPane,
    lines: Annotated[
        int | None, "Last lines, with scrollback; default: the screen", Between(1, 1000000)
    ] = None,
    colors: Annotated[bool, "Keep colour codes"] = False,
    start: Annotated[int | str | None, "First line: 0 = top of screen, - oldest"] = None,
    end: Annotated[int | str | None, "Last line"] = None,
    join: Annotated[bool, "Join wrapped lines"] = False,
) -> str:
    """Get what a pane shows now. To read only new output, use read-pane."""
    first, last, capture = _check_line("start", start), _check_line("end", end), ctx.tmux.capture
    has_range = start is not None or end is not None
    if (has_range or lines is not None) and await capture.is_alternate(pane_id):
        # The scrollback belongs to the shell below the full-screen program.
        first, last, has_range = _on_screen(None if first == "-" else first), _on_screen(last), True
    if ctx.services.redactor is not None:
        wanted = _WantedRows(first, last, lines, has_range=has_range, colors=colors, join=join)
        return await _capture_redacted(ctx, ctx.services.redactor, pane_id, wanted)
    if lines is not None and not has_range:
        rows = await capture.last_lines(pane_id, lines, colors=colors, join=join)
    else:
        rows = await capture.rows_between(pane_id, first, last, colors=colors, join=join)
        rows = strip_trailing_blank_rows(rows)
        rows = rows if lines is None else keep_last(rows, lines, colors=colors)
    return "\n".join(row[:_LONGEST_ROW] for row in rows)


@record
class _WantedRows:
    """The rows that a capture asks for."""

    first: int | str | None
    last: int | str | None
    lines: int | None
    has_range: bool
    colors: bool
    join: bool


async def _capture_redacted(
    ctx: Context, redactor: Redactor, pane: PaneId, wanted: _WantedRows
) -> RedactedText:
    """Capture rows with some around them, so that a secret which a wrap or the range cuts is recognized."""
    capture, how = ctx.tmux.capture, {"colors": wanted.colors, "join": wanted.join}
    width = (await ctx.tmux.panes.get(pane)).width
    above: list[str] = []
    below: list[str] = []
    if wanted.lines is not None and not wanted.has_range:
        rows = await capture.last_lines(pane, wanted.lines + _MARGIN_ROWS, **how)
    else:
        ends = (0 if wanted.first is None else wanted.first, "-" if wanted.last is None else wanted.last)
        above, rows, below = await capture.rows_around(pane, *ends, _MARGIN_ROWS, **how)
        rows = strip_trailing_blank_rows(rows)
    if wanted.lines is not None and len(rows) > wanted.lines:
        above += rows[: -wanted.lines]
        rows = keep_last(rows, wanted.lines, colors=wanted.colors)
    before, shown, after = (
        sanitize_text("\n".join(part), colors=wanted.colors) for part in (above, rows, below)
    )
    redact = partial(
        redactor.redact, shown, before=f"{before}\n", after=f"\n{after}" if after else "", columns=width
    )
    text = await asyncio.to_thread(redact, is_screen=not wanted.join)
    return RedactedText("\n".join(row[:_LONGEST_ROW] for row in text.split("\n")))


def _on_screen(line: int | str | None) -> int | str | None:
    """Return a line number that is on the screen: its top for a line above it."""
    return 0 if line is not None and re.fullmatch("-[0-9]+", str(line)) else line


def _check_line(argument: str, number: int | str | None) -> int | str | None:
    if number is not None and not re.fullmatch("-|-?[0-9]{1,9}", str(number)):
        raise BadInput(
            f"The argument {argument!r} must be a line number, not {str(number)[:20]!r}.",
            "Use 0 for the top of the screen, -5 for five lines above it, or - for the first or last line.",
        )
    return number


@tool(Effect.READ, STARRED, "capture")
async def read_pane(
    ctx: Context,
    pane_id: MainPane,
    since: Annotated[str | None, "cursor of an earlier answer"] = None,
    max_lines: Annotated[int, "Maximum, the last ones", Between(1, 100000)] = 100,
    grep: Annotated[str | None, "Only lines that match this RE2 regex"] = None,
) -> NewPaneText:
    """Read what a pane printed since the cursor.

    `missedLines` are lost; `truncated`: more than maxLines."""
    matcher = _compile_grep(grep) if grep is not None else None
    look_back = max_lines if matcher is None else ALL_LINES
    reading = await ctx.services.pane_readers.read(ctx.tmux, pane_id, since, look_back)
    wanted = lines = await _redact_lines(ctx, reading.lines, is_screen=reading.is_alternate)
    if matcher is not None:
        wanted = await asyncio.to_thread(_find_last, lines, matcher, max_lines + 1)
    kept = wanted[-max_lines:]
    is_cut = len(kept) < len(wanted) or any(len(row) > _LONGEST_ROW for row in kept)
    return NewPaneText(
        pane_id=pane_id,
        text="\n".join(row[:_LONGEST_ROW] for row in kept),
        cursor=reading.cursor,
        new_lines=len(reading.lines),
        missed_lines=reading.missed,
        truncated=reading.has_more or is_cut,
        alternate_screen=reading.is_alternate,
    )


async def _redact_lines(ctx: Context, lines: Sequence[str], *, is_screen: bool = False) -> Sequence[str]:
    """Take secrets out of lines before they are searched or cut, where the configuration says so."""
    redactor = ctx.services.redactor
    if redactor is None:
        return lines
    if len(lines) <= _FEW_LINES:
        return redactor.redact_lines(lines, is_screen=is_screen)
    return await asyncio.to_thread(redactor.redact_lines, lines, is_screen=is_screen)


def _compile_grep(pattern: str) -> LineMatcher:
    if not pattern:
        raise BadInput("The argument 'grep' is empty.", "Give something to find.")
    return LineMatcher(pattern, "grep")


def _find_last(lines: Sequence[str], matcher: LineMatcher, most: int) -> list[str]:
    """Return the last lines that match, at most so many. Many lines are searched at once, from the end on."""
    found: list[str] = []
    for end in range(len(lines), 0, -_FEW_LINES):
        block = "\n".join(lines[max(0, end - _FEW_LINES) : end]).encode("utf-8", "replace")
        found = [*(line.decode("utf-8", "replace") for line in matcher.find_all(block)), *found]
        if len(found) >= most:
            break
    return found[-most:]


@tool(Effect.READ, PRIMITIVE, "capture")
async def search_panes(
    ctx: Context,
    query: Annotated[str, "Text or pattern"],
    mode: Annotated[Literal["literal", "regex"], "regex is RE2"] = "literal",
    pane_ids: Annotated[list[PaneId] | None, "Only these panes"] = None,
    session_id: Annotated[SessionId | None, "Only this session's panes"] = None,
    max_matches: Annotated[int, "Maximum", Between(1, 10000)] = 50,
    context_lines: Annotated[int, "Lines of context on each side", Between(0, 100)] = 2,
) -> PaneMatches:
    """Search the whole scrollback of panes. `line` is a line number for capture-pane."""
    fits = compile_matcher(query, mode, "query")
    matches: list[PaneMatch] = []
    for pane in await _select_panes(ctx, pane_ids, session_id):
        try:
            matches += await _search_pane(ctx, pane, fits, context_lines)
        except NotFound:
            if pane_ids is not None:
                raise
            continue  # it has closed since it was listed
        if len(matches) > max_matches:
            break
    return PaneMatches(matches[:max_matches], truncated=len(matches) > max_matches)


async def _select_panes(
    ctx: Context, pane_ids: list[PaneId] | None, session: SessionId | None
) -> list[PaneId]:
    """Return the panes to search, each once: those that the call names and that are in its session."""
    if pane_ids is not None and session is None:
        return list(dict.fromkeys(pane_ids))
    there = dict.fromkeys(row.id for row in await ctx.tmux.panes.list(session))
    named = there if pane_ids is None else dict.fromkeys(pane_ids)
    return [pane for pane in named if pane in there]


async def _search_pane(
    ctx: Context, pane: PaneId, fits: Callable[[str], bool], context: int
) -> list[PaneMatch]:
    whole = await read_scrollback(ctx.tmux, pane)
    lines = list(await _redact_lines(ctx, whole.texts))
    hits = set(await _select_matching(lines, fits))
    found = [at for at, text in enumerate(lines) if text in hits]
    return [
        PaneMatch(
            pane,
            whole.numbers[at],
            lines[at],
            lines[max(0, at - context) : at],
            lines[at + 1 : at + 1 + context],
        )
        for at in found
    ]


async def _select_matching(lines: Sequence[str], fits: Callable[[str], bool]) -> list[str]:
    """Return the lines that match. Many lines are matched in a thread, beside the event loop."""
    if len(lines) <= _FEW_LINES:
        return [line for line in lines if fits(line)]
    return await asyncio.to_thread(lambda: [line for line in lines if fits(line)])


TOOLS = (capture_pane, read_pane, search_panes)
