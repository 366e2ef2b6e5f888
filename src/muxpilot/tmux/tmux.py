"""One tmux server, as a library.

async with Tmux() as tmux:
    session = await tmux.sessions.create("dev")
    await tmux.input.type(session.pane_id, "make", enter=True)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from muxpilot.journal.journals import JournalLimits, Journals
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.hosts.endpoint import Endpoint, default_socket, muxpilot_folder, validate_socket_path
from muxpilot.tmux.hosts.far import FarEndpoint
from muxpilot.tmux.hosts.routes import find_route
from muxpilot.tmux.objects.buffers import Buffers
from muxpilot.tmux.objects.capture import Capture
from muxpilot.tmux.objects.clients import Clients
from muxpilot.tmux.objects.input import Input
from muxpilot.tmux.objects.panes import Panes
from muxpilot.tmux.objects.sessions import Sessions
from muxpilot.tmux.objects.shell_startup import ShellStartup, ShellStartups
from muxpilot.tmux.objects.spawn import Spawner
from muxpilot.tmux.objects.targets import Targets
from muxpilot.tmux.objects.windows import Windows
from muxpilot.tmux.streams import Streams
from muxpilot.tmux.version import Version

if TYPE_CHECKING:
    from muxpilot.tmux.objects.endings import Endings

# Removes from the listings of a server the records that the policy hides from callers.
ServerRowFilter = Callable[["Tmux", list[Any]], Awaitable[list[Any]]]


class Tmux:
    """The tmux server on `socket`, or the one that plain `tmux` would use. It is started when needed.

    With `ssh`, which is options and a destination, or `exec_command`, which runs a program elsewhere, the
    server is on another host. `startup` creates the start-up files of a new shell, given a folder to create.
    `row_filter` hides records from listings.
    `journals` are shared with other servers; without them this server has its own. With `keeps_journals` off
    the output of panes is kept in memory only.
    """

    def __init__(
        self,
        socket: str | None = None,
        *,
        binary: str = "tmux",
        config: str | None = None,
        timeout_s: float = 30,
        passed_variables: tuple[str, ...] | None = None,
        startup: Callable[[Path], ShellStartup] | None = None,
        row_filter: ServerRowFilter | None = None,
        ssh: str | None = None,
        exec_command: str | None = None,
        journals: Journals | None = None,
        keeps_journals: bool = True,
    ) -> None:
        route = find_route(ssh, exec_command)
        if route is not None:
            endpoint: Endpoint = FarEndpoint.by(
                route, socket, binary=binary, config=config, passed_variables=passed_variables
            )
        else:
            path = validate_socket_path(socket) if socket is not None else default_socket()
            endpoint = Endpoint(path, binary, config, passed_variables)
        own_filter = partial(row_filter, self) if row_filter is not None else None
        self.connection = Connection(endpoint, timeout_s=timeout_s, row_filter=own_filter)
        self.panes = Panes(self.connection)
        self._own_journals = make_journals() if journals is None and keeps_journals else None
        self.streams = Streams(self.connection, self.panes, journals or self._own_journals)
        self.clients = Clients(self.connection)
        self.buffers = Buffers(self.connection)
        self.capture = Capture(self.connection)
        self.input = Input(self.connection, self.buffers, self.panes)
        self.startups = ShellStartups(None if route is not None else startup)
        spawner = Spawner(self.connection, self.streams, self.startups)
        self.windows = Windows(self.connection, spawner)
        self.sessions = Sessions(self.connection, self.clients, spawner)
        self.targets = Targets(self.connection, self.windows, self.panes)

    @cached_property
    def endings(self) -> Endings:
        """Return what ends panes, windows and sessions with all their processes."""
        from muxpilot.tmux.objects.endings import Endings  # most runs end none

        return Endings(self.connection, self.windows)

    @property
    def socket(self) -> str:
        """Return the text that identifies the server: the path of its socket, or `ssh:…`, `exec:…`."""
        return self.connection.endpoint.socket

    @property
    def is_remote(self) -> bool:
        """Return whether the server is on another host, whose files and processes we cannot see."""
        return self.connection.endpoint.is_remote

    async def version(self) -> Version:
        return await self.connection.server_version()

    async def version_text(self) -> str:
        return await self.connection.server_version_text()

    async def close(self) -> None:
        """Close the connection, and remove everything of ours from the server, which keeps running."""
        await self.buffers.close()
        await self.streams.close()
        await self.connection.close()
        if self._own_journals is not None:
            await self._own_journals.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


def make_journals(limits: JournalLimits | None = None, *, may_start: bool = True) -> Journals:
    """Return journals below the user's folders; below /tmp if none of those can be used."""
    return Journals(limits, may_start=may_start, last_resort=muxpilot_folder)
