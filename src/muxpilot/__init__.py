"""muxpilot: tmux for AI agents. Imported as a library, it offers the tmux engine."""

from __future__ import annotations

from muxpilot.tmux import PaneProgram, Tmux

__all__ = ["PaneProgram", "Tmux", "__version__"]
__version__ = "0.1.0"
