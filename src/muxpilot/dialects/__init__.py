"""Dialects: scopes that offer the same tools under the names and schemas of other tmux servers for MCP."""

from __future__ import annotations

from muxpilot.config.scope import Scope
from muxpilot.dialects.dialect import Dialect
from muxpilot.tmux.servers import TmuxServers


def dialect_of(scope: Scope, servers: TmuxServers) -> Dialect | None:
    """Return the dialect of a scope, or None for a scope with native tools. Load only the dialect in use."""
    if scope is Scope.DEBUG:
        from muxpilot.dialects.debug import DebugDialect

        return DebugDialect(servers)
    if scope is Scope.CLASSIC:
        from muxpilot.dialects.classic import CLASSIC

        return CLASSIC
    return None


__all__ = ["Dialect", "dialect_of"]
