"""muxpilot: tmux for AI agents. As a library, this is its engine."""

from __future__ import annotations

from muxpilot.tmux import Program, Tmux

__all__ = ["Program", "Tmux", "__version__"]
__version__ = "0.1.0"
