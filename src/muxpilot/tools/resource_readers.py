"""What resources tell that no tool does; run like tools, offered to nobody as one."""

from __future__ import annotations

from muxpilot.errors import NoServer
from muxpilot.records import record
from muxpilot.tmux import PaneId, SessionId, WindowId
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.spec import INTERNAL, Effect, tool
from muxpilot.tools.panes import PaneRow
from muxpilot.tools.sessions import SessionRow
from muxpilot.tools.windows import WindowRow


@record
class ServerInfo:
    socket: str
    ssh: str | None
    tmux_version: str | None
    running: bool


@record
class WindowBranch:
    window: WindowRow
    panes: list[PaneRow]


@record
class SessionTree:
    session: SessionRow
    windows: list[WindowBranch]


@tool(Effect.READ, INTERNAL, "list")
async def server_info(ctx: Context) -> ServerInfo:
    """Which tmux server this is."""
    entry = ctx.servers.entry(None)
    try:
        version = await ctx.tmux.version_text()
    except NoServer:
        return ServerInfo(entry.path, entry.ssh, None, running=False)
    return ServerInfo(entry.path, entry.ssh, version, running=True)


@tool(Effect.READ, INTERNAL, "list")
async def pane_info(ctx: Context, pane_id: PaneId) -> PaneRow:
    """One pane."""
    return PaneRow.of(await ctx.tmux.panes.get(pane_id))


@tool(Effect.READ, INTERNAL, "list")
async def window_info(ctx: Context, window_id: WindowId) -> WindowRow:
    """One window."""
    return WindowRow.of(await ctx.tmux.windows.get(window_id))


@tool(Effect.READ, INTERNAL, "list")
async def session_tree(ctx: Context, session_id: SessionId) -> SessionTree:
    """A session with its windows and panes."""
    session = await ctx.tmux.sessions.get(session_id)
    panes = [PaneRow.of(row) for row in await ctx.tmux.panes.list(session_id)]
    windows = [WindowRow.of(row) for row in await ctx.tmux.windows.list(session_id)]
    branches = [WindowBranch(row, [pane for pane in panes if pane.window_id == row.id]) for row in windows]
    return SessionTree(SessionRow.of(session), branches)


TOOLS = (server_info, pane_info, window_info, session_tree)
