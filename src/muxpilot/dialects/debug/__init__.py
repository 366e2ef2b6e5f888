"""Scope `debug`: five tools for panes of its own, which end with the server."""

from __future__ import annotations

from muxpilot.dialects.debug.tools import Debug

__all__ = ["Debug"]
