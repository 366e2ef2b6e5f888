"""muxpilot: tmux for AI agents. Imported as a library, it offers the tmux engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muxpilot.tmux import PaneProgram, Tmux

__all__ = ["PaneProgram", "Tmux", "__version__"]
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Load the engine when it is first asked for: a server answers its first requests without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from muxpilot import tmux

    return getattr(tmux, name)
