"""Scopes that speak another language: the same engine and pipeline under the names of older servers."""

from __future__ import annotations

from muxpilot.scopes.dialect import Dialect
from muxpilot.servers import Servers
from muxpilot.toolkit.spec import Scope


def dialect_of(scope: Scope, servers: Servers) -> Dialect | None:
    """The dialect of a scope, loaded only when it is asked for; None where the native tools are offered."""
    if scope is Scope.DEBUG:
        from muxpilot.scopes.debug import Debug

        return Debug(servers)
    if scope is Scope.CLASSIC:
        from muxpilot.scopes.classic import CLASSIC

        return CLASSIC
    return None


__all__ = ["Dialect", "dialect_of"]
