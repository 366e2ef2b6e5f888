"""What a tool has to work with."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import Any

from muxpilot.reading.pane_cursor import Journals
from muxpilot.record.recordings import Recordings
from muxpilot.records import record
from muxpilot.shells.command_registry import Shells
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.servers import Servers
from muxpilot.watch.registry import Told, Watches

Progress = Callable[[float, float | None, str], Coroutine[Any, Any, None]]


Permit = Callable[[Tmux, Mapping[str, Any]], Coroutine[Any, Any, None]]


async def unjudged(tmux: Tmux, arguments: Mapping[str, Any]) -> None:
    """Where there is no policy."""


async def unheard(progress: float, total: float | None, message: str) -> None:
    """Progress for a caller who did not ask for it."""


def unkept(watch: str) -> None:
    """A watch of a caller of whom nobody knows whether it is still there ends by its own timeout."""


@record
class Caller:
    """Who asks: how to tell it of progress, of what its watches come to, and which end when it leaves."""

    progress: Progress = unheard
    told: Told | None = None
    keeps: Callable[[str], None] = unkept


@record
class Context:
    """One call's surroundings; `tmux` is the server that the call's `socket` names."""

    tmux: Tmux
    servers: Servers
    journals: Journals
    exclusive: Callable[[Tmux, PaneId], AbstractAsyncContextManager[None]]
    shells: Shells
    caller: Caller = field(default_factory=Caller)
    watches: Watches = field(default_factory=Watches)
    recordings: Recordings = field(default_factory=Recordings)
    # The folders of security.allowed_buffer_paths; without any, buffer files live in a private one.
    buffer_paths: tuple[str, ...] | None = None
    # Whether the call itself says which server it means.
    names_server: bool = False
    # For a tool that acts on more servers or panes than its own arguments name: raises what denies one.
    permit: Permit = unjudged
