"""Output of panes, byte by byte, whoever made them."""

from __future__ import annotations

from muxpilot.tmux.streams.registry import Streams
from muxpilot.tmux.streams.stream import Data, End, Event, Exit, Gap, PaneStream

__all__ = ["Data", "End", "Event", "Exit", "Gap", "PaneStream", "Streams"]
