"""Tools for panes."""

from __future__ import annotations

from typing import Annotated, Literal

from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.tmux import PaneId, PaneProgram, SessionId, WindowId
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.rows import Killed, PaneDone, PaneRow, ProcessRow
from muxpilot.toolkit.spec import PRIMITIVE, STARRED, Effect, tool
from muxpilot.tools.context import Context

_DIRECTIONS = {"U": "up", "D": "down", "L": "left", "R": "right"}


@record
class PaneList:
    panes: list[PaneRow]


@record
class PlacedPane:
    pane_id: str
    window_id: str


@record
class TitledPane:
    pane_id: str
    title: str


@record
class ZoomedPane:
    pane_id: str
    zoomed: bool


@record
class SizedPane:
    pane_id: str
    width: int
    height: int


@record
class SwappedPanes:
    source_pane_id: str
    target_pane_id: str


@record
class RespawnedPane:
    pane_id: str
    processes: tuple[ProcessRow, ...] = ()


@record
class BrokenPane:
    window_id: str
    window_name: str
    pane_id: str


@tool(Effect.READ, STARRED, "list")
async def list_panes(
    ctx: Context, window_id: WindowId | None = None, session_id: SessionId | None = None
) -> PaneList:
    """List panes with their names (`pane`), programs and exit codes."""
    if window_id is not None and session_id is not None:
        raise BadInput("Both windowId and sessionId are given.", "Give one of them, or none.")
    rows = await ctx.tmux.panes.list(window_id or session_id)
    names = await ctx.services.workspaces.names_of(ctx.tmux, (row.id for row in rows))
    return PaneList([PaneRow.from_tmux(row, names.get(row.id)) for row in rows])


@tool(Effect.CREATE, STARRED, "split", creates_pane=True)
async def split_pane(
    ctx: Context,
    pane_id: PaneId,
    direction: Annotated[Literal["horizontal", "vertical"], "horizontal: side by side"] = "vertical",
    size: Annotated[int | None, "In percent", Between(1, 99)] = None,
    command: Annotated[str | None, "Run this, not a shell", ArgumentFlag.SHELL] = None,
    cwd: Annotated[str | None, "Working directory", ArgumentFlag.EVIDENT] = None,
    env: Annotated[dict[str, str] | None, "Environment variables", ArgumentFlag.EVIDENT] = None,
) -> PlacedPane:
    """Split a pane in two; focus does not change."""
    made = await ctx.tmux.windows.split(
        pane_id, side_by_side=direction == "horizontal", percent=size, program=PaneProgram(command, cwd, env)
    )
    return PlacedPane(made.pane_id, made.window_id)


@tool(Effect.CHANGE, PRIMITIVE, "rename")
async def rename_pane(ctx: Context, pane_id: PaneId, title: Annotated[str, "New title"]) -> TitledPane:
    """Set a pane's title; returns the title that tmux keeps."""
    return TitledPane(pane_id, await ctx.tmux.panes.rename(pane_id, title))


@tool(Effect.CHANGE, PRIMITIVE, "move")
async def select_pane(ctx: Context, pane_id: PaneId) -> PaneDone:
    """Select a pane in its window: keys of attached people go there."""
    await ctx.tmux.panes.select(pane_id)
    return PaneDone(pane_id)


@tool(Effect.CHANGE, PRIMITIVE, "move")
async def zoom_pane(ctx: Context, pane_id: PaneId) -> ZoomedPane:
    """Let a pane fill its window, or undo that; `zoomed` is the new state."""
    return ZoomedPane(pane_id, await ctx.tmux.panes.toggle_zoom(pane_id))


@tool(Effect.CHANGE, PRIMITIVE, "move")
async def resize_pane(
    ctx: Context,
    pane_id: PaneId,
    width: Annotated[int | None, "Columns", Between(1, 10000)] = None,
    height: Annotated[int | None, "Rows", Between(1, 10000)] = None,
    direction: Annotated[
        Literal["up", "down", "left", "right", "U", "D", "L", "R"] | None, "Move a border this way instead"
    ] = None,
    amount: Annotated[int, "Cells to move it", Between(1, 10000)] = 5,
) -> SizedPane:
    """Resize a pane; returns its new size."""
    way = _DIRECTIONS.get(direction, direction) if direction is not None else None
    row = await ctx.tmux.panes.resize(pane_id, width=width, height=height, direction=way, amount=amount)
    return SizedPane(pane_id, row.width, row.height)


@tool(Effect.CHANGE, PRIMITIVE, "move")
async def join_pane(ctx: Context, source_pane_id: PaneId, target_pane_id: PaneId) -> PlacedPane:
    """Move a pane into another pane's window."""
    return PlacedPane(source_pane_id, await ctx.tmux.panes.join(source_pane_id, target_pane_id))


@tool(Effect.CHANGE, PRIMITIVE, "move")
async def swap_pane(ctx: Context, source_pane_id: PaneId, target_pane_id: PaneId) -> SwappedPanes:
    """Swap two panes."""
    await ctx.tmux.panes.swap(source_pane_id, target_pane_id)
    return SwappedPanes(source_pane_id, target_pane_id)


@tool(Effect.CHANGE, PRIMITIVE, "move", changes_sessions=True)
async def break_pane(
    ctx: Context, pane_id: PaneId, name: Annotated[str | None, "Name of the new window"] = None
) -> BrokenPane:
    """Move a pane to a new window, in the background."""
    window, window_name = await ctx.tmux.panes.break_out(pane_id, name=name)
    return BrokenPane(window, window_name, pane_id)


@tool(Effect.DESTROY, STARRED, "kill")
async def kill_pane(ctx: Context, pane_id: PaneId) -> Killed:
    """Kill a pane and the programs in it."""
    return Killed.of(pane_id, await ctx.tmux.endings.kill_pane(pane_id))


@tool(Effect.DESTROY, PRIMITIVE, "create", kills_if="kill")
async def respawn_pane(
    ctx: Context,
    pane_id: PaneId,
    command: Annotated[str | None, "Program to run instead of a shell", ArgumentFlag.SHELL] = None,
    kill: Annotated[bool, "Kill the running program first"] = False,
) -> RespawnedPane:
    """Start a program in a pane whose program has ended."""
    if kill:
        ended = await ctx.tmux.endings.respawn(pane_id, command=command)
        return RespawnedPane(pane_id, tuple(ProcessRow.from_ended(row) for row in ended))
    await ctx.tmux.windows.respawn(pane_id, command=command)
    return RespawnedPane(pane_id)


TOOLS = (
    list_panes,
    split_pane,
    rename_pane,
    select_pane,
    zoom_pane,
    resize_pane,
    join_pane,
    swap_pane,
    break_pane,
    kill_pane,
    respawn_pane,
)
