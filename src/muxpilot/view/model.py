"""What there is to see: the tmux servers, which of their panes agents use, and the audit trail."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from muxpilot.app import App
from muxpilot.dispatch import incident
from muxpilot.errors import BadInput
from muxpilot.view.audit_reader import Entry, Trail
from muxpilot.view.panes import Server

_LOOK_AGAIN_S = 0.5
_MOST_SERVERS = 32


class Stage:
    """Looked at only while somebody watches; what may not be seen by the policy is never looked at."""

    def __init__(self, app: App, trail: Trail) -> None:
        self.trail = trail
        self._app = app
        self._watchers = 0
        self._tasks: list[asyncio.Task[None]] = []
        self.servers: dict[str, Server] = {}
        self.closing_key = app.judge.policy.closing_key("list-panes")
        self.text_closing_key = app.judge.policy.closing_key("capture-pane")
        for name, _ in app.servers.known():
            self._add(name, None if name == "default" else name)

    @contextmanager
    def watched(self) -> Iterator[None]:
        if not self._watchers:
            self._tasks = [asyncio.create_task(self._read_trail())]
            self._tasks += [
                asyncio.create_task(self._keep_looking(server)) for server in self.servers.values()
            ]
        self._watchers += 1
        try:
            yield
        finally:
            self._watchers -= 1
            if not self._watchers:
                for task in self._tasks:
                    task.cancel()

    def agents_panes(self) -> dict[tuple[str, str], float]:
        """By server and pane: those that muxpilot made, and those that calls named since that tmux started.

        With the time of the last call, 0 if there was none.
        """
        rows = self.servers.values()
        found: dict[tuple[str, str], float] = {
            (row.name, pane.id): 0.0 for row in rows for pane in row.panes if pane.is_made_by_us
        }
        meant = {socket: self.named(socket) for socket, _ in self.trail.used}
        for (socket, pane), at in self.trail.used.items():
            server = self.servers.get(meant[socket] or "")
            if server is not None and at >= server.started:
                place = (server.name, pane)
                found[place] = max(at, found.get(place, 0.0))
        return found

    def named(self, socket: str | None) -> str | None:
        """The server that a call was for."""
        return next((server.name for server in self.servers.values() if server.is_meant_by(socket)), None)

    def meant(self, entry: Entry) -> list[dict[str, str | None]]:
        """The panes of a call."""
        return [{"server": self.named(socket), "id": pane} for socket, pane in entry.places]

    async def _keep_looking(self, server: Server) -> None:
        """A mistake of ours is said on the page, and does not end this; one that lasts is logged once."""
        fault: str | None = None
        while self.closing_key is None:
            try:
                await server.look()
                fault = None
            except Exception:  # noqa: BLE001
                server.problem = fault = fault or incident("Looking for its panes")
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def _read_trail(self) -> None:
        """As `_keep_looking`."""
        fault: str | None = None
        while True:
            try:
                self.trail.poll()
                for socket in {socket for socket, _ in self.trail.used if socket}:
                    self._meet(socket)
                fault = None
            except Exception:  # noqa: BLE001
                self.trail.problem = fault = fault or incident("Reading the audit log")
            await asyncio.sleep(_LOOK_AGAIN_S)

    def _meet(self, socket: str) -> None:
        """A server that an agent named by its path."""
        if self.named(socket) is not None or not os.path.isabs(socket) or len(self.servers) >= _MOST_SERVERS:
            return
        if os.path.exists(socket) and self._app.judge.policy.allows_socket(socket):
            with suppress(BadInput):
                self._tasks.append(asyncio.create_task(self._keep_looking(self._add(socket, socket))))

    def _add(self, name: str, socket: str | None) -> Server:
        self.servers[name] = server = Server(name, self._app.servers.get(socket))
        return server
