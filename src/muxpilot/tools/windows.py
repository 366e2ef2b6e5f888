"""Windows."""

from __future__ import annotations

from typing import Annotated

from muxpilot.records import record
from muxpilot.tmux import Program, SessionId, Window, WindowId
from muxpilot.toolkit.argument_flags import Mark
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.spec import PRIMITIVE, STARRED, Effect, tool
from muxpilot.tools.sessions import Killed


@record
class WindowRow:
    id: WindowId
    index: int
    name: str
    active: bool
    panes: int
    session_id: SessionId
    session_name: str
    layout: str
    zoomed: bool
    active_pane_id: str

    @classmethod
    def of(cls, row: Window) -> WindowRow:
        return cls(
            *(row.id, row.index, row.name, row.is_active, row.panes, row.session_id, row.session_name),
            *(row.layout, row.is_zoomed, row.active_pane_id),
        )


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
class WindowDone:
    window_id: str


@record
class MovedWindow:
    window_id: str
    session_id: str
    index: int


@record
class LaidOut:
    window_id: str
    layout: str


@record
class Synchronized:
    window_id: str
    synchronized: bool


@tool(Effect.READ, STARRED, "list")
async def list_windows(ctx: Context, session_id: SessionId | None = None) -> WindowList:
    """List the windows of a session, or of all."""
    return WindowList([WindowRow.of(row) for row in await ctx.tmux.windows.list(session_id)])


@tool(Effect.CREATE, STARRED, "create")
async def create_window(
    ctx: Context,
    session_id: SessionId,
    name: Annotated[str | None, "Window name"] = None,
    command: Annotated[
        str | None, "Program to run instead of the shell; the pane ends with it", Mark.SHELL
    ] = None,
    cwd: Annotated[str | None, "Folder to start in"] = None,
    env: Annotated[dict[str, str] | None, "Variables for its pane"] = None,
) -> CreatedWindow:
    """Open a window in the background; nobody's focus moves."""
    made = await ctx.tmux.windows.create(session_id, name=name, program=Program(command, cwd, env))
    return CreatedWindow(made.window_id, made.window_name, made.window_index, made.pane_id, made.session_id)


@tool(Effect.CHANGE, PRIMITIVE, "rename")
async def rename_window(
    ctx: Context, window_id: WindowId, name: Annotated[str, "The new name"]
) -> NamedWindow:
    """Rename a window; answers the name that tmux keeps."""
    return NamedWindow(window_id, await ctx.tmux.windows.rename(window_id, name))


@tool(Effect.CHANGE, PRIMITIVE, "move")
async def select_window(ctx: Context, window_id: WindowId) -> WindowDone:
    """Make a window its session's current one: people who look at the session see it."""
    await ctx.tmux.windows.select(window_id)
    return WindowDone(window_id)


@tool(Effect.DESTROY, PRIMITIVE, "kill")
async def kill_window(ctx: Context, window_id: WindowId) -> Killed:
    """Kill a window and everything that runs in it."""
    await ctx.tmux.windows.kill(window_id)
    return Killed(window_id)


@tool(Effect.CHANGE, PRIMITIVE, "move")
async def move_window(
    ctx: Context,
    window_id: WindowId,
    target_session_id: SessionId,
    target_index: Annotated[int | None, "Index there; a free one if not given", Between(0, 2**31 - 1)] = None,
) -> MovedWindow:
    """Move a window to another session or index."""
    index = await ctx.tmux.windows.move(window_id, target_session_id, index=target_index)
    return MovedWindow(window_id, target_session_id, index)


@tool(Effect.CHANGE, PRIMITIVE, "move")
async def select_layout(
    ctx: Context,
    window_id: WindowId,
    layout: Annotated[str, "even-horizontal, tiled …, or a layout that list-windows told"],
) -> LaidOut:
    """Arrange the panes of a window."""
    return LaidOut(window_id, await ctx.tmux.windows.set_layout(window_id, layout))


@tool(Effect.CHANGE, PRIMITIVE, "move")
async def set_synchronize_panes(
    ctx: Context, window_id: WindowId, enabled: Annotated[bool, "Whether keys for one pane go to all"]
) -> Synchronized:
    """Send what is typed into one pane of a window to all of its panes, or stop that."""
    await ctx.tmux.windows.set_synchronized(window_id, enabled=enabled)
    return Synchronized(window_id, enabled)


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
