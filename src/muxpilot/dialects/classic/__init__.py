"""Scope `classic`: fourteen tools with tmux's own targets, whose answers are lines of text."""

from __future__ import annotations

from muxpilot.dialects.classic.tools import CLASSIC

__all__ = ["CLASSIC"]
