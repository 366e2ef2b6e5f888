"""Find panes, sessions and clients of others that a call would type into, change or end.

Every muxpilot marks the sessions and panes that it creates. Those without a mark belong to others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muxpilot.policy.targets_reached import target_ids, types_into_pane
from muxpilot.tmux import PaneId, SessionId, Tmux, WindowId
from muxpilot.tmux.objects.owner import list_foreign_panes
from muxpilot.tmux.objects.owner_marks import list_sessions_showing, read_session_owner
from muxpilot.toolkit.spec import Effect, Tool

TargetId = SessionId | WindowId | PaneId

_TOUCHING = (Effect.CHANGE, Effect.TYPE, Effect.DESTROY)
# Groups of tools that arrange a window: they move, resize or cover each of its panes.
_ARRANGING = ("split", "move")


async def find_foreign_target(tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]) -> str | None:
    """Return the first pane, session or client of others that a call would touch, for a denial.

    A message that is only shown beside a pane does not touch it.
    """
    if tool.detaches is not None:
        return f"the client {arguments.get(tool.detaches)}"
    arranges = tool.group in _ARRANGING
    touches_panes = tool.effect in _TOUCHING or arranges
    if tool.is_shown_beside_pane and not types_into_pane(tool, arguments):
        touches_panes = False
    for target in target_ids(arguments):
        foreign = await _find_foreign_pane(tool, tmux, arguments, target) if touches_panes else None
        if foreign is None and tool.changes_sessions:
            foreign = await _find_foreign_session(tmux, target)
        if foreign is not None:
            return foreign
    return None


async def _find_foreign_pane(
    tool: Tool, tmux: Tmux, arguments: Mapping[str, Any], target: TargetId
) -> str | None:
    """Return the first pane of others in a target, or among the panes that are synchronized with it."""
    is_typed = types_into_pane(tool, arguments) and isinstance(target, PaneId)
    for item in await tmux.panes.list_synchronized(PaneId(target)) if is_typed else [target]:
        others = await list_foreign_panes(tmux.connection, item, whole_window=tool.group in _ARRANGING)
        if others:
            return f"pane {others[0]}"
    return None


async def _find_foreign_session(tmux: Tmux, target: TargetId) -> str | None:
    """Return the first session of others that is the target, or shows it."""
    for session in await list_sessions_showing(tmux.connection, target):
        if await read_session_owner(tmux.connection, session) is None:
            return f"session {session}"
    return None
