"""The names that folders give to workspaces, and workspaces to their sessions."""

from __future__ import annotations

import os

# The pane that a call means if it names none.
MAIN = "main"

_LONGEST_FOLDER = 40


def session_name_for(workspace: str) -> str:
    """Return the name of a workspace's session. Up to 3.6 tmux writes `_` for `.`, so we always do."""
    return workspace.replace(".", "_")


def workspace_name_for(folder: str) -> str:
    """Return `agent-FOLDER`, with `-` for each character that is not a letter, a digit or `_`."""
    base = os.path.basename(folder.rstrip("/")) or "root"
    word = "".join(char if char == "_" or char.isalnum() else "-" for char in base)
    return f"agent-{word[:_LONGEST_FOLDER].strip('-') or 'folder'}"
