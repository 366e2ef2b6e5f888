"""The data of the view page: the tmux servers, which panes agents use, and the audit log."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from muxpilot.app import App
from muxpilot.calls import report_incident
from muxpilot.errors import BadInput
from muxpilot.tasks import TaskSet
from muxpilot.tmux import Tmux
from muxpilot.trace import area
from muxpilot.view.audit_reader import AuditEntry, AuditReader
from muxpilot.view.panes import ViewServer

_REFRESH_S = 0.5
_MOST_SERVERS = 32

trace = area("view")


class ViewModel:
    """Servers, panes and audit entries.

    They are read only while a page is open. Nothing is read that the policy does not allow.
    """

    def __init__(self, app: App, audit: AuditReader) -> None:
        self.audit = audit
        self._app = app
        self._watchers = 0
        self._tasks = TaskSet(trace)
        self.servers: dict[str, ViewServer] = {}
        self.closing_key = app.listing_closed_by
        self.text_closing_key = app.text_closed_by
        for name, _ in app.servers.visible_addresses():
            self._add(name, None if name == "default" else name)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Keep the data up to date inside this context, which several pages may enter."""
        if not self._watchers:
            self._tasks.start(self._keep_reading_audit(), name="read audit log")
            for server in self.servers.values():
                self._tasks.start(self._keep_listing_panes(server), name="list panes")
        self._watchers += 1
        try:
            yield
        finally:
            self._watchers -= 1
            if not self._watchers:
                self._tasks.cancel()

    def list_sockets(self) -> frozenset[str]:
        """Return the sockets of the servers that the page shows, as real paths."""
        return frozenset(os.path.realpath(server.tmux.socket) for server in self.servers.values())

    def list_local_servers(self) -> list[Tmux]:
        """Return the tmux servers of this machine that the page shows."""
        return [server.tmux for server in self.servers.values() if not server.tmux.is_remote]

    def agents_panes(self) -> dict[tuple[str, str], float]:
        """Return the panes that muxpilot created and those that calls named since that tmux started.

        The keys are server and pane, the values the time of the last call, 0 if there was none.
        """
        rows = self.servers.values()
        found: dict[tuple[str, str], float] = {
            (row.name, pane.id): 0.0 for row in rows for pane in row.panes if pane.is_created_by_muxpilot
        }
        names = {socket: self.server_named(socket) for socket, _ in self.audit.last_calls}
        for (socket, pane), at in self.audit.last_calls.items():
            server = self.servers.get(names[socket] or "")
            if server is not None and at >= server.started_at:
                place = (server.name, pane)
                found[place] = max(at, found.get(place, 0.0))
        return found

    def server_named(self, socket: str | None) -> str | None:
        """Return the name of the server that a call was for, None if it is not known."""
        return next((server.name for server in self.servers.values() if server.is_named_by(socket)), None)

    def panes_of(self, entry: AuditEntry) -> list[dict[str, str | None]]:
        """Return the panes of a call for the page."""
        return [{"server": self.server_named(socket), "id": pane} for socket, pane in entry.places]

    async def _keep_listing_panes(self, server: ViewServer) -> None:
        """List the panes again and again. An internal error is shown on the page and logged once."""
        fault: str | None = None
        while self.closing_key is None:
            try:
                await server.list_panes()
                fault = None
            except Exception:  # noqa: BLE001 - a bug must not end the page, which shows it
                server.problem = fault = fault or report_incident("Listing the panes")
            await asyncio.sleep(_REFRESH_S)

    async def _keep_reading_audit(self) -> None:
        """Read the audit log again and again. An internal error is shown on the page and logged once."""
        fault: str | None = None
        while True:
            try:
                self.audit.read_new_lines()
                for socket in dict.fromkeys(socket for socket, _ in self.audit.last_calls if socket):
                    self._add_server_of_socket(socket)
                fault = None
            except Exception:  # noqa: BLE001 - a bug must not end the page, which shows it
                self.audit.problem = fault = fault or report_incident("Reading the audit log")
            await asyncio.sleep(_REFRESH_S)

    def _add_server_of_socket(self, socket: str) -> None:
        """Add the server of a socket path that an agent named, if the policy allows it."""
        if (
            self.server_named(socket) is not None
            or not os.path.isabs(socket)
            or len(self.servers) >= _MOST_SERVERS
        ):
            return
        if os.path.exists(socket) and self._app.judge.policy.allows_socket(socket):
            with suppress(BadInput):
                self._tasks.start(self._keep_listing_panes(self._add(socket, socket)), name="list panes")

    def _add(self, name: str, socket: str | None) -> ViewServer:
        trace.debug("server added", server=name)
        self.servers[name] = server = ViewServer(name, self._app.servers.get(socket))
        return server
