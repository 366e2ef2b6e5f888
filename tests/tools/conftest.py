"""A real MCP client on a real muxpilot over stdio, with its own tmux server."""

from __future__ import annotations

from tests.rigs.mcp_fixtures import call, fails, name, pane, place, rig, under

__all__ = ["call", "fails", "name", "pane", "place", "rig", "under"]
