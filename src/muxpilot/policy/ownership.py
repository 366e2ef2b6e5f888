"""Find panes and clients of others that a call would type into, change or end.

Every muxpilot marks the sessions and panes that it creates. Those without a mark belong to others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muxpilot.policy.targets_reached import target_ids, types_into_pane
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.objects.owner import list_foreign_panes
from muxpilot.toolkit.spec import Effect, Tool

_TOUCHING = (Effect.CHANGE, Effect.TYPE, Effect.DESTROY)
# Groups of tools that arrange a window: they move, resize or cover each of its panes.
_ARRANGING = ("split", "move")


async def find_foreign_target(tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]) -> str | None:
    """Return the first pane or client of others that a call would touch, for a denial.

    A message that is only shown beside a pane does not touch it.
    """
    if tool.detaches is not None:
        return f"the client {arguments.get(tool.detaches)}"
    arranges = tool.group in _ARRANGING
    if tool.effect not in _TOUCHING and not arranges:
        return None
    if tool.group == "display" and not types_into_pane(tool, arguments):
        return None
    for target in target_ids(arguments):
        is_typed = types_into_pane(tool, arguments) and isinstance(target, PaneId)
        for item in await tmux.panes.list_synchronized(PaneId(target)) if is_typed else [target]:
            others = await list_foreign_panes(tmux.connection, item, whole_window=arranges)
            if others:
                return f"pane {others[0]}"
    return None
