"""Which workspace a muxpilot uses: the one with a given name, or the one of a folder."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from itertools import count

from muxpilot.records import record
from muxpilot.workspace.names import session_name_for, workspace_name_for

# Stands for the folder in the mark of a workspace that was given a name.
NO_FOLDER = "-"


@record
class WorkspaceIdentity:
    """A workspace: `name` is given by a person, or None. Panes start in `folder`."""

    name: str | None
    folder: str

    def folder_key(self, *, is_remote: bool) -> str:
        """Return a word for the folder. The same path on two hosts is two folders to a remote tmux."""
        if self.name is not None:
            return NO_FOLDER
        import hashlib  # most calls name no pane of a folder's workspace

        host = os.uname().nodename if is_remote else ""
        return hashlib.sha256(f"{host}:{self.folder}".encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def names(self, taken: Collection[str]) -> Iterator[str]:
        """Yield names for a new workspace that no session and no other workspace has, best first.

        A given name is the only one. The name of a folder gets a number where another folder has it.
        """
        if self.name is not None:
            yield from () if session_name_for(self.name) in taken else (self.name,)
            return
        base = workspace_name_for(self.folder)
        numbered = (base if number == 1 else f"{base}-{number}" for number in count(1))
        yield from (name for name in numbered if name not in taken)
