"""Dialogues with programs that have a prompt: python, node, psql, gdb and whatever else waits for a line."""

from __future__ import annotations

from muxpilot.repl.dialogue import Reply, converse

__all__ = ["Reply", "converse"]
