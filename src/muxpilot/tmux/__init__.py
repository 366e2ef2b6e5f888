"""The tmux engine: a library that needs only the standard library and a tmux program."""

from __future__ import annotations

from muxpilot.tmux.hosts.endpoint import socket_for_path
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.models import Buffer, Client, ListedPane, Pane, Session, Window
from muxpilot.tmux.objects.sessions import EnsuredSession
from muxpilot.tmux.objects.spawn import CreatedPane, PaneProgram
from muxpilot.tmux.streams import Data, End, Gap, PaneStream
from muxpilot.tmux.tmux import Tmux

__all__ = [
    "Buffer",
    "Client",
    "CreatedPane",
    "Data",
    "End",
    "EnsuredSession",
    "Gap",
    "ListedPane",
    "Pane",
    "PaneId",
    "PaneProgram",
    "PaneStream",
    "Session",
    "SessionId",
    "Tmux",
    "Window",
    "WindowId",
    "socket_for_path",
]
