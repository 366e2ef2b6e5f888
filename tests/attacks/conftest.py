"""A real MCP client on a real muxpilot over stdio, as in the tests of the server."""

from __future__ import annotations

from tests.rigs.mcp_fixtures import name, pane, rig

__all__ = ["name", "pane", "rig"]
