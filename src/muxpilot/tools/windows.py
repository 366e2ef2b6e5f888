"""Tools for windows."""

from __future__ import annotations

from typing import Annotated

from muxpilot.records import record
from muxpilot.tmux import PaneProgram, SessionId, WindowId
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.rows import Killed, WindowRow
from muxpilot.toolkit.spec import PRIMITIVE, STARRED, Effect, tool
from muxpilot.tools.context import Context


@record
class WindowList:
    windows: list[WindowRow]


@record
class CreatedWindow:
    window_id: str
    window_name: str
    window_index: int
    pane_id: str
    session_id: str


@record
class NamedWindow:
    window_id: str
    name: str


@record
class SelectedWindow:
    window_id: str


@record
class MovedWindow:
    window_id: str
    session_id: str
    index: int


@record
class WindowLayout:
    window_id: str
    layout: str


@record
class SynchronizedWindow:
    window_id: str
    synchronized: bool


@tool(Effect.READ, STARRED, "list")
async def list_windows(ctx: Context, session_id: SessionId | None = None) -> WindowList:
    """List the windows of a session, or all."""
    return WindowList([WindowRow.from_tmux(row) for row in await ctx.tmux.windows.list(session_id)])


@tool(Effect.CREATE, STARRED, "create", creates_pane=True, changes_sessions=True)
async def create_window(
    ctx: Context,
    session_id: SessionId,
    name: Annotated[str | None, "Window name"] = None,
    command: Annotated[str | None, "Run this, not a shell", ArgumentFlag.SHELL] = None,
    cwd: Annotated[str | None, "Working directory", ArgumentFlag.EVIDENT] = None,
    env: Annotated[dict[str, str] | None, "Environment variables", ArgumentFlag.EVIDENT] = None,
) -> CreatedWindow:
    """Create a window in the background; focus does not change."""
    made = await ctx.tmux.windows.create(session_id, name=name, program=PaneProgram(command, cwd, env))
    return CreatedWindow(made.window_id, made.window_name, made.window_index, made.pane_id, made.session_id)


@tool(Effect.CHANGE, PRIMITIVE, "rename")
async def rename_window(ctx: Context, window_id: WindowId, name: Annotated[str, "New name"]) -> NamedWindow:
    """Rename a window; returns the name that tmux keeps."""
    return NamedWindow(window_id, await ctx.tmux.windows.rename(window_id, name))


@tool(Effect.CHANGE, PRIMITIVE, "move", changes_sessions=True)
async def select_window(ctx: Context, window_id: WindowId) -> SelectedWindow:
    """Select a window in its session: attached clients show it."""
    await ctx.tmux.windows.select(window_id)
    return SelectedWindow(window_id)


@tool(Effect.DESTROY, PRIMITIVE, "kill")
async def kill_window(ctx: Context, window_id: WindowId) -> Killed:
    """Kill a window and all programs in it."""
    return Killed.of(window_id, await ctx.tmux.endings.kill_window(window_id))


@tool(Effect.CHANGE, PRIMITIVE, "move", changes_sessions=True)
async def move_window(
    ctx: Context,
    window_id: WindowId,
    target_session_id: SessionId,
    target_index: Annotated[int | None, "Index there; default: a free one", Between(0, 2**31 - 1)] = None,
) -> MovedWindow:
    """Move a window to another session or index."""
    index = await ctx.tmux.windows.move(window_id, target_session_id, index=target_index)
    return MovedWindow(window_id, target_session_id, index)


@tool(Effect.CHANGE, PRIMITIVE, "move")
async def select_layout(
    ctx: Context,
    window_id: WindowId,
    layout: Annotated[str, "even-horizontal, tiled …, or a layout from list-windows"],
) -> WindowLayout:
    """Set the layout of a window's panes."""
    return WindowLayout(window_id, await ctx.tmux.windows.set_layout(window_id, layout))


@tool(Effect.CHANGE, PRIMITIVE, "move")
async def set_synchronize_panes(
    ctx: Context, window_id: WindowId, enabled: Annotated[bool, "true: keys for one pane go to all"]
) -> SynchronizedWindow:
    """Send keys for one pane to all panes of its window, or stop that."""
    await ctx.tmux.windows.set_synchronized(window_id, enabled=enabled)
    return SynchronizedWindow(window_id, enabled)


TOOLS = (
    list_windows,
    create_window,
    rename_window,
    select_window,
    kill_window,
    move_window,
    select_layout,
    set_synchronize_panes,
)
