"""Panes: their lines of text, their input and what they show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

from muxpilot.dialects.classic import targets
from muxpilot.dialects.classic.format import APane, Given, MaybeGiven, lines
from muxpilot.dialects.keys_or_text import send, strokes
from muxpilot.errors import BadInput, NotFound
from muxpilot.tmux import PaneId, Program, WindowId
from muxpilot.toolkit.argument_flags import Mark
from muxpilot.toolkit.context import Context

_DIRECTIONS = ("up", "down", "left", "right")


async def list_panes(
    ctx: Context,
    where: Annotated[
        WindowId | None,
        'Session or window target (e.g. "mysession", "mysession:0"). If omitted, lists all panes',
    ] = None,
    given: MaybeGiven = None,
) -> str:
    """List tmux panes with their IDs, dimensions, and status."""
    session = await targets.session(ctx.tmux, given) if given else None
    panes = await targets.there(ctx.tmux.panes.list(where))
    found = (
        (home.session_name, home.index, row.id, row.index, size, int(row.is_active), row.current_command)
        for home in await targets.there(ctx.tmux.windows.list(session))  # a window may be in several sessions
        for row in panes
        if row.window_id == home.id
        for size in (f"{row.width}x{row.height}",)
    )
    return lines(found, "No panes found.")


_Stacked = Annotated[bool, "If true, split horizontally (top/bottom). Default is vertical (left/right)"]


async def split_window(
    ctx: Context,
    pane_id: Annotated[
        PaneId, 'Target window or pane to split (e.g. "session:window", "session:window.pane", or "%3")'
    ],
    horizontal: _Stacked = False,  # noqa: FBT002 - an argument by name
    size: Annotated[
        str | None, 'Size of new pane: percentage (e.g. "50%") or line/column count (e.g. "20")'
    ] = None,
    command: Annotated[str | None, "Optional command to run in the new pane", Mark.SHELL] = None,
    given: MaybeGiven = None,
) -> str:
    """Split a window/pane to create a new pane."""
    made = await ctx.tmux.windows.split(
        pane_id, side_by_side=not horizontal, program=Program(command or None), **_size(size)
    )
    with suppress(NotFound):  # its command may have ended already
        await ctx.tmux.panes.select(made.pane_id)
    return f"Pane created. pane_id={made.pane_id}"


def _size(text: str | None) -> dict[str, int]:
    if not text:
        return {}
    found = re.fullmatch(r"([0-9]{1,5})(%?)", text, re.ASCII)
    if found is None:
        raise BadInput("size must be a percentage such as '50%' or a number of cells such as '20'.")
    return {"percent" if found[2] else "cells": int(found[1])}


async def select_pane(ctx: Context, pane_id: APane, given: Given) -> str:
    """Select/focus a specific tmux pane."""
    await ctx.tmux.panes.select(pane_id)
    return f"Selected pane '{given}'."


async def resize_pane(
    ctx: Context,
    pane_id: Annotated[PaneId, 'Pane target (e.g. "%3", "session:window.pane")'],
    given: Given,
    direction: Annotated[str | None, 'Direction to grow: "up", "down", "left", or "right"'] = None,
    amount: Annotated[int, "Number of cells to resize by (default 5). Used with direction"] = 5,
    width: Annotated[int | None, "Absolute width in columns. Overrides direction/amount"] = None,
    height: Annotated[int | None, "Absolute height in rows. Overrides direction/amount"] = None,
) -> str:
    """Resize a tmux pane. Use direction+amount for relative resize, or width/height for absolute resize."""
    if width is not None or height is not None:
        await ctx.tmux.panes.resize(pane_id, width=width, height=height)
    elif direction not in _DIRECTIONS:
        raise BadInput("direction must be 'up', 'down', 'left', or 'right'.")
    else:
        await ctx.tmux.panes.resize(pane_id, direction=direction, amount=amount)
    return f"Pane '{given}' resized."


async def send_keys(
    ctx: Context,
    pane_id: APane,
    keys: Annotated[str, 'Key names (e.g. "Enter", "C-c") or text to type'],
    given: Given,
    literal: Annotated[bool, "If true, type the keys as text even if they name a key"] = False,  # noqa: FBT002
) -> str:
    """Send keys to a tmux pane."""
    if literal:
        async with ctx.exclusive(ctx.tmux, pane_id):
            await ctx.tmux.input.type(pane_id, keys)
    else:
        await send(ctx, pane_id, keys, any_case=True)
    return f"Sent keys to '{given}'."


def typed(arguments: Mapping[str, Any]) -> Sequence[str]:
    keys = arguments["keys"]
    return [keys] if arguments["literal"] else strokes(keys, any_case=True)


async def read_pane(
    ctx: Context,
    pane_id: APane,
    line_count: Annotated[int | None, "How many lines; if omitted, all that the screen shows"] = None,
    start_line: Annotated[
        int | None,
        "First line: 0 is the top of the screen, -10 ten lines above it; if omitted, the last lines",
    ] = None,
    given: MaybeGiven = None,
) -> str:
    """Read the content of a tmux pane."""
    if line_count is not None and line_count < 1:
        raise BadInput("line_count must be 1 or more.")
    if start_line is None and line_count is not None:
        return "\n".join(await ctx.tmux.capture.last(pane_id, line_count))
    start = start_line or 0
    end = None if line_count is None else start + line_count - 1
    return "\n".join(await ctx.tmux.capture.between(pane_id, start, end)).rstrip("\n ")
