"""Dialogues with programs that have a prompt: python, node, psql, gdb and any other that waits for a line."""

from __future__ import annotations

from muxpilot.repl.dialogue import ReplReply, run_dialogue

__all__ = ["ReplReply", "run_dialogue"]
