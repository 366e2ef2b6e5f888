"""All tools, in the order in which they are listed and documented."""

from __future__ import annotations

from muxpilot.toolkit.spec import Tool
from muxpilot.tools import (
    buffers,
    clients,
    commands,
    input,
    panes,
    pictures,
    reading,
    repl,
    resource_readers,
    run_on,
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
    *run_on.TOOLS,
    *repl.TOOLS,
    *state.TOOLS,
    *watching.TOOLS,
    *pictures.TOOLS,
    *input.TOOLS,
    *buffers.TOOLS,
    *resource_readers.TOOLS,
)
