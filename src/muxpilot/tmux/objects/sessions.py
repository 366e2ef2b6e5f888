"""Sessions: list, find, create, rename and kill them. The hub sessions of muxpilots are left out."""

from __future__ import annotations

import asyncio
import fnmatch
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from muxpilot.errors import NameTaken, NoServer, NotFound
from muxpilot.records import record
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.models import SESSION, WINDOW, Session, Window
from muxpilot.tmux.objects.clients import Clients
from muxpilot.tmux.objects.spawn import SHELL, ClaimPane, CreatedPane, PaneProgram, Spawner
from muxpilot.tmux.objects.validate import stored_session_name, validate_name, validate_size
from muxpilot.tmux.quote import escape_format


@record
class EnsuredSession:
    """A session, new or found, with the window and the pane that it shows."""

    session_id: SessionId
    session_name: str
    window_id: WindowId
    pane_id: PaneId
    created: bool


class Sessions:
    """The sessions of one server."""

    def __init__(self, connection: Connection, clients: Clients, spawner: Spawner) -> None:
        self._connection = connection
        self._clients = clients
        self._spawner = spawner
        self._trace = connection.endpoint.trace

    async def list(self) -> Sequence[Session]:
        """List all sessions; `attached` counts people, not control connections of programs."""
        rows, clients = await asyncio.gather(
            self._connection.list_records(SESSION, Session, "list-sessions"), self._clients.list()
        )
        people = Counter(client.session_id for client in clients)
        return [replace(row, attached=people[row.id]) for row in rows if not row.is_hub]

    async def get(self, session: SessionId) -> Session:
        """Return a session, or raise NotFound."""
        for row in await self.list():
            if row.id == session:
                return row
        raise NotFound("session", session)

    async def find(self, name: str) -> Session:
        """Return the session of exactly this name, else the last active one that a glob or part fits."""
        rows = await self.list()
        stored = await self._stored_name(validate_name("name", name))
        for row in rows:
            if row.name == stored:
                return row
        matching = [row for row in rows if name in row.name or fnmatch.fnmatchcase(row.name, name)]
        if not matching:
            raise NotFound("session", name)
        return max(matching, key=lambda row: row.activity)

    async def create(
        self,
        name: str | None = None,
        *,
        window_name: str | None = None,
        width: int = 200,
        height: int = 50,
        program: PaneProgram = SHELL,
        claim: ClaimPane | None = None,
    ) -> EnsuredSession:
        """Create a session in the background, or return the existing one of this name, unchanged.

        `claim` returns a command for a new session, which tmux runs before the program starts.
        """
        found = await self._find_existing(name) if name is not None else None
        if found is not None:
            return found
        try:
            created = await self.create_new(
                name, window_name=window_name, width=width, height=height, program=program, claim=claim
            )
        except NameTaken as taken:
            found = await self._find_existing(taken.name)
            if found is None:
                raise
            return found
        return _from_created_pane(created)

    async def create_new(
        self,
        name: str | None,
        *,
        window_name: str | None = None,
        width: int,
        height: int,
        program: PaneProgram = SHELL,
        marks: Sequence[Command] = (),
        claim: ClaimPane | None = None,
    ) -> CreatedPane:
        """Create a session in the background, or raise NameTaken.

        tmux runs `marks` in the same step. `claim` gets the pane before its program starts.
        """
        naming = ("-s", escape_format(validate_name("name", name))) if name is not None else ()
        window = (
            ("-n", escape_format(validate_name("windowName", window_name))) if window_name is not None else ()
        )
        size = ("-x", str(validate_size("width", width)), "-y", str(validate_size("height", height)))
        async with self._connection.lock_for_session_change():
            return await self._spawner.create_pane(
                *("new-session", "-d", *naming, *window, *size),
                program=program,
                may_start_server=True,
                name_window=window_name is None,
                marks=marks,
                claim=claim,
            )

    async def rename(self, session: SessionId, name: str) -> str:
        """Rename a session. Return the name that tmux stores: up to 3.6 it writes `_` for `:` and `.`."""
        rename = ("rename-session", "-t", session, "--", escape_format(validate_name("name", name)))
        async with self._connection.lock_for_session_change():
            await self._connection.run(rename)
        return (await self.get(session)).name

    async def kill(self, session: SessionId) -> None:
        async with self._connection.lock_for_session_change():
            await self._connection.run(("kill-session", "-t", session))
        self._trace.debug("session killed", session=session)

    async def _stored_name(self, name: str) -> str:
        return stored_session_name(name, await self._connection.server_version())

    async def _find_existing(self, name: str) -> EnsuredSession | None:
        """Find a session by the given name, or by the form in which tmux stores it."""
        validate_name("name", name)
        try:
            rows = await self._connection.list_records(
                WINDOW, Window, "list-windows", "-a", "-f", "#{window_active}"
            )
            stored = await self._stored_name(name)
        except NoServer:
            return None
        for row in rows:
            if row.session_name in (name, stored) and not row.is_hub:
                return EnsuredSession(
                    row.session_id, row.session_name, row.id, row.active_pane_id, created=False
                )
        return None


def _from_created_pane(pane: CreatedPane) -> EnsuredSession:
    return EnsuredSession(pane.session_id, pane.session_name, pane.window_id, pane.pane_id, created=True)
