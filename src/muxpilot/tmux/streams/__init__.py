"""Streams: the output of panes, byte by byte, whichever program created the pane."""

from __future__ import annotations

from muxpilot.tmux.streams.registry import Streams
from muxpilot.tmux.streams.stream import Data, End, ExitStatus, Gap, PaneStream, StreamEvent

__all__ = ["Data", "End", "ExitStatus", "Gap", "PaneStream", "StreamEvent", "Streams"]
