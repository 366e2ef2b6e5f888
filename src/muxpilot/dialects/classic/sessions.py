"""Sessions and windows, in lines of text."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from muxpilot.dialects.classic.format import AWindow, Given, MaybeGiven, NewName, lines
from muxpilot.dialects.classic.targets import there
from muxpilot.errors import NameTaken, NotFound
from muxpilot.tmux import PaneId, Program, SessionId, WindowId
from muxpilot.toolkit.argument_flags import Mark
from muxpilot.toolkit.context import Context

_WIDTH, _HEIGHT = 80, 24  # of a session that nobody looks at, as tmux has it


async def list_sessions(ctx: Context) -> str:
    """List all tmux sessions."""
    rows = await there(ctx.tmux.sessions.list())
    found = ((row.name, row.id, f"{row.windows} windows", row.attached) for row in rows)
    return lines(found, "No sessions found.")


async def create_session(
    ctx: Context,
    name: Annotated[str, "Name for the new session"],
    command: Annotated[str | None, "Optional command to run in the initial window", Mark.SHELL] = None,
    window_name: Annotated[str | None, "Optional name for the first window"] = None,
) -> str:
    """Create a new tmux session."""
    made = await ctx.tmux.sessions.create(
        name, window_name=window_name, width=_WIDTH, height=_HEIGHT, program=Program(command or None)
    )
    if not made.created:
        raise NameTaken(name)
    ids = f"session_id={made.session_id} window_id={made.window_id} pane_id={made.pane_id}"
    return f"Session '{name}' created. {ids}"


async def rename_session(
    ctx: Context,
    session_id: Annotated[SessionId, "Current session name or ID"],
    new_name: NewName,
    given: Given,
) -> str:
    """Rename a tmux session."""
    await ctx.tmux.sessions.rename(session_id, new_name)
    return f"Session '{given}' renamed to '{new_name}'."


async def list_windows(
    ctx: Context,
    session_id: Annotated[
        SessionId | None, "Session name or ID to filter by. If omitted, lists windows from all sessions"
    ] = None,
    given: MaybeGiven = None,
) -> str:
    """List all tmux windows. Optionally filter by session name or ID."""
    rows = await there(ctx.tmux.windows.list(session_id))
    found = (
        (row.session_name, row.index, row.id, row.name, int(row.is_active), f"{row.panes} panes", pane)
        for row in rows
        for pane in (row.active_pane_id,)
    )
    return lines(found, "No windows found.")


async def create_window(
    ctx: Context,
    session_id: Annotated[SessionId, "Target session name or ID"],
    given: Given,
    name: Annotated[str | None, "Optional name for the new window"] = None,
    command: Annotated[str | None, "Optional command to run in the new window", Mark.SHELL] = None,
) -> str:
    """Create a new window in an existing tmux session."""
    made = await ctx.tmux.windows.create(session_id, name=name or None, program=Program(command or None))
    with suppress(NotFound):  # its command may have ended already
        await ctx.tmux.windows.select(made.window_id)
    ids = f"window_id={made.window_id} window_index={made.window_index} pane_id={made.pane_id}"
    return f"Window created in session '{given}'. {ids}"


async def select_window(
    ctx: Context,
    window_id: AWindow,
    given: Given,
) -> str:
    """Switch to a tmux window."""
    await ctx.tmux.windows.select(window_id)
    return f"Selected window '{given}'."


async def rename_window(
    ctx: Context,
    window_id: AWindow,
    new_name: NewName,
    given: Given,
) -> str:
    """Rename a tmux window."""
    await ctx.tmux.windows.rename(window_id, new_name)
    return f"Window '{given}' renamed to '{new_name}'."


_TARGET = 'Session, window or pane to kill (e.g. "mysession", "mysession:0", "%3")'
_Kind = Annotated[str, "What to kill: session, window, or pane"]


async def kill_pane(
    ctx: Context, pane_id: Annotated[PaneId, _TARGET], given: Given, type: _Kind = "pane"
) -> str:
    """Kill a tmux session, window, or pane."""
    await ctx.tmux.panes.kill(pane_id)
    return f"Killed pane '{given}'."


async def kill_window(
    ctx: Context, window_id: Annotated[WindowId, _TARGET], given: Given, type: _Kind = "pane"
) -> str:
    """Kill a tmux session, window, or pane."""
    await ctx.tmux.windows.kill(window_id)
    return f"Killed window '{given}'."


async def kill_session(
    ctx: Context, session_id: Annotated[SessionId, _TARGET], given: Given, type: _Kind = "pane"
) -> str:
    """Kill a tmux session, window, or pane."""
    await ctx.tmux.sessions.kill(session_id)
    return f"Killed session '{given}'."
