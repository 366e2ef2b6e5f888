"""Tools of this scope that are more than a native tool with another format."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

from muxpilot.dialects.classic.format import format_lines
from muxpilot.dialects.classic.targets import find_session, list_or_empty
from muxpilot.dialects.dialect import call_native
from muxpilot.dialects.keys_or_text import send_keys_or_text, typed_input
from muxpilot.errors import BadInput, NotFound
from muxpilot.tmux import PaneId, PaneProgram, SessionId, WindowId
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.tools.context import Context

PANE_TARGET = 'Pane target (e.g. "session:window.pane", "%3")'

_Given = Annotated[str | None, "The target as the caller wrote it"]
_TargetPane = Annotated[PaneId, PANE_TARGET]
_Stacked = Annotated[bool, "If true, split horizontally (top/bottom). Default is vertical (left/right)"]


async def list_sessions(ctx: Context) -> str:
    """List all tmux sessions."""
    rows = await list_or_empty(ctx.tmux.sessions.list())
    found = ((row.name, row.id, f"{row.windows} windows", row.attached) for row in rows)
    return format_lines(found, "No sessions found.")


async def list_windows(
    ctx: Context,
    session_id: Annotated[
        SessionId | None, "Session name or ID to filter by. If omitted, lists windows from all sessions"
    ] = None,
    given: _Given = None,
) -> str:
    """List all tmux windows. Optionally filter by session name or ID."""
    rows = await list_or_empty(ctx.tmux.windows.list(session_id))
    found = (
        (row.session_name, row.index, row.id, row.name, int(row.is_active), f"{row.panes} panes", pane)
        for row in rows
        for pane in (row.active_pane_id,)
    )
    return format_lines(found, "No windows found.")


async def list_panes(
    ctx: Context,
    where: Annotated[
        WindowId | None,
        'Session or window target (e.g. "mysession", "mysession:0"). If omitted, lists all panes',
    ] = None,
    given: _Given = None,
) -> str:
    """List tmux panes with their IDs, dimensions, and status."""
    session = await find_session(ctx.tmux, given) if given else None
    panes = await list_or_empty(ctx.tmux.panes.list(where))
    windows = await list_or_empty(ctx.tmux.windows.list(session))
    found = (
        (window.session_name, window.index, row.id, row.index, size, int(row.is_active), row.current_command)
        for window in windows  # a window may be in several sessions
        for row in panes
        if row.window_id == window.id
        for size in (f"{row.width}x{row.height}",)
    )
    return format_lines(found, "No panes found.")


async def create_window(
    ctx: Context,
    session_id: Annotated[SessionId, "Target session name or ID"],
    name: Annotated[str | None, "Optional name for the new window"] = None,
    command: Annotated[str | None, "Optional command to run in the new window", ArgumentFlag.SHELL] = None,
    given: _Given = None,
) -> str:
    """Create a new window in an existing tmux session."""
    arguments = {"session_id": session_id, "name": name or None, "command": command or None}
    made = await call_native(ctx, "create-window", arguments)
    with suppress(NotFound):  # its command may have ended already
        await call_native(ctx, "select-window", {"window_id": WindowId(made.window_id)})
    ids = f"window_id={made.window_id} window_index={made.window_index} pane_id={made.pane_id}"
    return f"Window created in session '{given}'. {ids}"


async def split_window(
    ctx: Context,
    pane_id: Annotated[
        PaneId, 'Target window or pane to split (e.g. "session:window", "session:window.pane", or "%3")'
    ],
    horizontal: _Stacked = False,
    size: Annotated[
        str | None, 'Size of new pane: percentage (e.g. "50%") or line/column count (e.g. "20")'
    ] = None,
    command: Annotated[str | None, "Optional command to run in the new pane", ArgumentFlag.SHELL] = None,
    given: _Given = None,
) -> str:
    """Split a window/pane to create a new pane."""
    made = await ctx.tmux.windows.split(
        pane_id, side_by_side=not horizontal, program=PaneProgram(command or None), **_parse_size(size)
    )
    with suppress(NotFound):  # its command may have ended already
        await ctx.tmux.panes.select(made.pane_id)
    return f"Pane created. pane_id={made.pane_id}"


def _parse_size(text: str | None) -> dict[str, int]:
    if not text:
        return {}
    found = re.fullmatch(r"([0-9]{1,5})(%?)", text, re.ASCII)
    if found is None:
        raise BadInput("size must be a percentage such as '50%' or a number of cells such as '20'.")
    return {"percent" if found[2] else "cells": int(found[1])}


async def send_keys(
    ctx: Context,
    pane_id: _TargetPane,
    keys: Annotated[str, 'Key names (e.g. "Enter", "C-c") or text to type', ArgumentFlag.TYPED],
    literal: Annotated[bool, "If true, type the keys as text even if they name a key"] = False,
    given: _Given = None,
) -> str:
    """Send keys to a tmux pane."""
    if literal:
        async with ctx.lock_pane(ctx.tmux, pane_id):
            await ctx.tmux.input.type(pane_id, keys)
    else:
        await send_keys_or_text(ctx, pane_id, keys, any_case=True)
    return f"Sent keys to '{given}'."


def keys_typed(arguments: Mapping[str, Any]) -> Sequence[str]:
    """Return what send_keys types, for policy."""
    keys = arguments["keys"]
    return [keys] if arguments["literal"] else typed_input(keys, any_case=True)


async def read_pane(
    ctx: Context,
    pane_id: _TargetPane,
    line_count: Annotated[int | None, "How many lines; if omitted, all that the screen shows"] = None,
    start_line: Annotated[
        int | None,
        "First line: 0 is the top of the screen, -10 ten lines above it; if omitted, the last lines",
    ] = None,
    given: _Given = None,
) -> str:
    """Read the content of a tmux pane."""
    if line_count is not None and line_count < 1:
        raise BadInput("line_count must be 1 or more.")
    if start_line is None and line_count is not None:
        return "\n".join(await ctx.tmux.capture.last_lines(pane_id, line_count))
    start = start_line or 0
    end = None if line_count is None else start + line_count - 1
    return "\n".join(await ctx.tmux.capture.rows_between(pane_id, start, end)).rstrip("\n ")
