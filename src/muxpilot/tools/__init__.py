"""All tools, in the order in which they are listed and documented."""

from __future__ import annotations

from muxpilot.toolkit.spec import Tool
from muxpilot.tools import (
    buffers,
    clients,
    commands,
    input,
    pane_text,
    panes,
    people,
    pictures,
    repl,
    resource_readers,
    run_on,
    screens,
    sessions,
    state,
    watches,
    windows,
)

RESOURCES = resource_readers.RESOURCES
COMPLETIONS = resource_readers.COMPLETIONS

TOOLS: tuple[Tool, ...] = (
    *sessions.TOOLS,
    *windows.TOOLS,
    *panes.TOOLS,
    *clients.TOOLS,
    *people.TOOLS,
    *pane_text.TOOLS,
    *screens.TOOLS,
    *commands.TOOLS,
    *run_on.TOOLS,
    *repl.TOOLS,
    *state.TOOLS,
    *watches.TOOLS,
    *pictures.TOOLS,
    *input.TOOLS,
    *buffers.TOOLS,
    *resource_readers.TOOLS,
)
