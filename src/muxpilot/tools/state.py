"""The state of panes."""

from __future__ import annotations

from muxpilot.toolkit.spec import WORKFLOW, Effect, tool
from muxpilot.tools.context import Context, MainPane
from muxpilot.watch.pane_state import PaneState


@tool(Effect.READ, WORKFLOW, "list")
async def pane_state(ctx: Context, pane_id: MainPane) -> PaneState:
    """Get what runs in a pane and whether it waits for input (null: unknown)."""
    return await PaneState.read(await ctx.tmux.panes.get(pane_id))


TOOLS = (pane_state,)
