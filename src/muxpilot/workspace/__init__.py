"""The workspace: the session of an agent, whose panes have names."""

from __future__ import annotations

from muxpilot.workspace.identity import WorkspaceIdentity
from muxpilot.workspace.names import MAIN
from muxpilot.workspace.workspace import OpenedPane, UnopenedPane
from muxpilot.workspace.workspaces import Workspaces

__all__ = ["MAIN", "OpenedPane", "UnopenedPane", "WorkspaceIdentity", "Workspaces"]
