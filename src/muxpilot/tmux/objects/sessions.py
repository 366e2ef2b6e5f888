"""Sessions: find them, make them, end them. The hubs of muxpilots are in none of it."""

from __future__ import annotations

import asyncio
import fnmatch
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from muxpilot.errors import NameTaken, NoServer, NotFound
from muxpilot.records import record
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.models import SESSION, WINDOW, Session, Window
from muxpilot.tmux.objects import validate
from muxpilot.tmux.objects.clients import Clients
from muxpilot.tmux.objects.spawn import SHELL, CreatedPane, Program, Spawner
from muxpilot.tmux.quote import literal


@record
class Ensured:
    """A session, new or found, with the window and the pane that it shows."""

    session_id: SessionId
    session_name: str
    window_id: WindowId
    pane_id: PaneId
    created: bool


class Sessions:
    def __init__(self, connection: Connection, clients: Clients, births: Spawner) -> None:
        self._connection = connection
        self._clients = clients
        self._births = births

    async def list(self) -> Sequence[Session]:
        """All sessions; `attached` counts people, not programs that look on."""
        rows, clients = await asyncio.gather(
            self._connection.records(SESSION, Session, "list-sessions"), self._clients.list()
        )
        people = Counter(client.session_id for client in clients)
        return [replace(row, attached=people[row.id]) for row in rows if not row.is_hub]

    async def get(self, session: SessionId) -> Session:
        for row in await self.list():
            if row.id == session:
                return row
        raise NotFound("session", session)

    async def find(self, name: str) -> Session:
        """The session of exactly this name; else the only or newest one that a glob or substring fits."""
        rows = await self.list()
        stored = await self._stored(validate.name("name", name))
        for row in rows:
            if row.name == stored:
                return row
        fitting = [row for row in rows if name in row.name or fnmatch.fnmatchcase(row.name, name)]
        if not fitting:
            raise NotFound("session", name)
        return max(fitting, key=lambda row: row.activity)

    async def create(
        self,
        name: str | None = None,
        *,
        window_name: str | None = None,
        width: int = 200,
        height: int = 50,
        program: Program = SHELL,
    ) -> Ensured:
        """Make a session in the background, or find the one that has this name; that one is not changed."""
        found = await self._existing(name) if name is not None else None
        if found is not None:
            return found
        naming = ("-s", literal(validate.name("name", name))) if name is not None else ()
        window = ("-n", literal(validate.name("windowName", window_name))) if window_name is not None else ()
        size = ("-x", str(validate.size("width", width)), "-y", str(validate.size("height", height)))
        try:
            async with self._connection.changing_sessions():
                birth = await self._births.create_pane(
                    *("new-session", "-d", *naming, *window, *size),
                    program=program,
                    may_start_server=True,
                    name_window=window_name is None,
                )
        except NameTaken as taken:
            found = await self._existing(taken.name)
            if found is None:
                raise
            return found
        return _ensured(birth)

    async def rename(self, session: SessionId, name: str) -> str:
        """Answers the name that tmux keeps, which may differ: up to 3.6 it writes `_` for `:` and `.`."""
        rename = ("rename-session", "-t", session, "--", literal(validate.name("name", name)))
        async with self._connection.changing_sessions():
            await self._connection.run(rename)
        return (await self.get(session)).name

    async def kill(self, session: SessionId) -> None:
        async with self._connection.changing_sessions():
            await self._connection.run(("kill-session", "-t", session))

    async def _stored(self, name: str) -> str:
        return validate.stored_session_name(name, await self._connection.server_version())

    async def _existing(self, name: str) -> Ensured | None:
        """Also what an earlier call of the same name made, though tmux may have written it otherwise."""
        validate.name("name", name)
        try:
            rows = await self._connection.records(
                WINDOW, Window, "list-windows", "-a", "-f", "#{window_active}"
            )
            stored = await self._stored(name)
        except NoServer:
            return None
        for row in rows:
            if row.session_name in (name, stored) and not row.is_hub:
                return Ensured(row.session_id, row.session_name, row.id, row.active_pane_id, created=False)
        return None


def _ensured(birth: CreatedPane) -> Ensured:
    return Ensured(birth.session_id, birth.session_name, birth.window_id, birth.pane_id, created=True)
