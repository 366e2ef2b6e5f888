"""All tools, in the order in which they are listed and documented."""

from __future__ import annotations

from muxpilot.toolkit.spec import Tool
from muxpilot.tools import (
    buffers,
    clients,
    commands,
    fleet,
    info,
    input,
    panes,
    reading,
    repl,
    screens,
    sessions,
    state,
    watching,
    windows,
)

TOOLS: tuple[Tool, ...] = (
    *sessions.TOOLS,
    *windows.TOOLS,
    *panes.TOOLS,
    *clients.TOOLS,
    *reading.TOOLS,
    *commands.TOOLS,
    *fleet.TOOLS,
    *repl.TOOLS,
    *state.TOOLS,
    *watching.TOOLS,
    *screens.TOOLS,
    *input.TOOLS,
    *buffers.TOOLS,
    *info.TOOLS,
)
