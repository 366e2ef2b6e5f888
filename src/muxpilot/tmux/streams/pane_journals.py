"""The journals of the panes of one tmux server: create one, find one, read one that has ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from muxpilot.errors import MuxpilotError, UnsafeSocket
from muxpilot.journal.folders import Generation, JournalFolders, ServerIdentity
from muxpilot.journal.journals import Journals
from muxpilot.journal.owners import Owners
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.streams import journal_source
from muxpilot.trace import Trace


class PaneJournals:
    """The journals of one server of this host; for others see far_journals.py. None if `journals` is None."""

    def __init__(self, connection: Connection, journals: Journals | None, trace: Trace) -> None:
        self._connection = connection
        self._journals = journals
        self._trace = trace

    @property
    def journals(self) -> Journals:
        assert self._journals is not None
        return self._journals

    @property
    def are_kept(self) -> bool:
        """Return whether journals are kept for the panes of this server."""
        return self._folders is not None

    @property
    def _folders(self) -> JournalFolders | None:
        """Return the folders where this server's user can write, or None."""
        if self._journals is None or self._connection.endpoint.is_remote:
            return None
        with suppress(OSError):
            if os.stat(self._connection.endpoint.socket).st_uid != os.geteuid():
                return None  # tmux, which runs the pipe's program, could not enter our folder
        return self._journals.folders

    async def pane_folder(self, pane: PaneId) -> Path | None:
        """Return the folder for the records of a pane, on this host also if the pane is on another.

        Return None if nothing is kept, or no folder can be made.
        """
        folders = self._journals.folders if self._journals is not None else None
        if folders is None:
            return None
        try:
            return folders.pane_folder(await self.server_identity(), pane)
        except (OSError, UnsafeSocket) as error:
            self._trace.warning("no records can be kept", pane=pane, error=error)
            return None

    async def pane_folders(self) -> Sequence[Path]:
        """Return the folders of all panes of this server that have one."""
        folders = self._journals.folders if self._journals is not None else None
        return list(folders.pane_folders(await self.server_identity())) if folders is not None else ()

    @property
    def owners(self) -> Owners | None:
        return self._journals.owners if self._journals is not None else None

    async def create(self, pane: PaneId, exit_mark: str, *, nonce: str = "") -> Generation | None:
        """Create a generation for a pane. Return None where no journal can be kept."""
        folders = self._folders
        if folders is None:
            return None
        identity = await self.server_identity()
        try:
            generation = folders.new_generation(identity, pane)
            if exit_mark:
                generation.write_exit_mark(exit_mark)
            if nonce:
                generation.write_nonce(nonce)
            if not exit_mark and not nonce:
                # On a full disk all output would be dropped, and with it the marks of the shell. A control
                # client, which is used where there is no journal, loses nothing.
                generation.check_room()
        except (OSError, MuxpilotError) as error:
            self._trace.warning("no journal can be kept", pane=pane, error=error)
            return None
        return generation

    async def find(self, pane: PaneId, name: str) -> Generation | None:
        """Return a generation by a name that tmux, or a cursor, has told."""
        folders = self._folders
        return folders.find_generation(await self.server_identity(), pane, name) if folders else None

    async def list(self, pane: PaneId) -> list[Generation]:
        """Return the generations of a pane, the oldest first."""
        folders = self._folders
        return folders.generations(await self.server_identity(), pane) if folders else []

    async def server_folder(self) -> Path | None:
        """Return the folder for what is kept about this server, or None where nothing is kept.

        A server on another host has one too: only its panes have no journals.
        """
        folders = self._journals.folders if self._journals is not None else None
        if folders is None:
            return None
        identity = await self.server_identity()
        try:
            return folders.server_folder(identity)
        except (OSError, MuxpilotError) as error:
            self._trace.warning("nothing can be kept about this server", error=error)
            return None

    async def server_identity(self) -> ServerIdentity:
        """Return which server answers, or raise NoServer."""
        pid, started = await self._connection.server_process()
        return ServerIdentity(self._connection.endpoint.socket, pid, started)

    def pipe_command(self, pane: PaneId, generation: Generation) -> Command:
        return journal_source.pipe_command(pane, generation, self.journals.limits.cap_bytes)
