"""The tmux engine: a library of its own, with nothing but the standard library and tmux behind it."""

from __future__ import annotations

from muxpilot.tmux.hosts.endpoint import socket_for_path
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.models import Buffer, Client, ListedPane, Pane, Session, Window
from muxpilot.tmux.objects.sessions import Ensured
from muxpilot.tmux.objects.spawn import CreatedPane, Program
from muxpilot.tmux.streams import Data, End, Gap, PaneStream
from muxpilot.tmux.tmux import Tmux

__all__ = [
    "Buffer",
    "Client",
    "CreatedPane",
    "Data",
    "End",
    "Ensured",
    "Gap",
    "ListedPane",
    "Pane",
    "PaneId",
    "PaneStream",
    "Program",
    "Session",
    "SessionId",
    "Tmux",
    "Window",
    "WindowId",
    "socket_for_path",
]
