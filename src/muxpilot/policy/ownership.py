"""What others made, and a call would type into, change or end: told by the marks on what muxpilots make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muxpilot.policy.targets_reached import synchronized, targets
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.objects.owner import made_by_others
from muxpilot.toolkit.spec import Effect, Tool

_TOUCHING = (Effect.CHANGE, Effect.TYPE, Effect.DESTROY)


async def foreign_reached(tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]) -> str | None:
    """A pane, or a person at their terminal; what is only shown beside a pane does not touch it."""
    if tool.name == "detach-client":
        return f"the client {arguments.get('client_tty')}"
    if tool.effect not in _TOUCHING or tool.group == "display":
        return None
    for target in targets(arguments):
        is_typed = tool.effect is Effect.TYPE and isinstance(target, PaneId)
        for item in await synchronized(tmux, PaneId(target)) if is_typed else [target]:
            others = await made_by_others(tmux.connection, item)
            if others:
                return f"pane {others[0]}"
    return None
