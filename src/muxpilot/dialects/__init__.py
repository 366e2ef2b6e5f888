"""Scopes that speak another language: the same engine and pipeline under the names of older servers."""

from __future__ import annotations

from muxpilot.config.scope import Scope
from muxpilot.dialects.dialect import Dialect
from muxpilot.tmux.servers import Servers


def dialect_of(scope: Scope, servers: Servers) -> Dialect | None:
    """The dialect of a scope, loaded only when it is asked for; None where the native tools are offered."""
    if scope is Scope.DEBUG:
        from muxpilot.dialects.debug import Debug

        return Debug(servers)
    if scope is Scope.CLASSIC:
        from muxpilot.dialects.classic import CLASSIC

        return CLASSIC
    return None


__all__ = ["Dialect", "dialect_of"]
