"""Scope `debug`: five tools for panes in a session of their own, which ends with the server."""

from __future__ import annotations

from muxpilot.dialects.debug.tools import DebugDialect

__all__ = ["DebugDialect"]
