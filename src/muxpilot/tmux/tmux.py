"""One tmux server, as a library.

async with Tmux() as tmux:
    session = await tmux.sessions.create("dev")
    await tmux.input.type(session.pane_id, "make", enter=True)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Self

from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.hosts.endpoint import Endpoint, checked_socket, default_socket
from muxpilot.tmux.hosts.ssh import FarEndpoint
from muxpilot.tmux.objects.buffers import Buffers
from muxpilot.tmux.objects.capture import Capture
from muxpilot.tmux.objects.clients import Clients
from muxpilot.tmux.objects.input import Input
from muxpilot.tmux.objects.panes import Panes
from muxpilot.tmux.objects.sessions import Sessions
from muxpilot.tmux.objects.shell_startup import Startup, Startups
from muxpilot.tmux.objects.spawn import Spawner
from muxpilot.tmux.objects.targets import Targets
from muxpilot.tmux.objects.windows import Windows
from muxpilot.tmux.streams import Streams
from muxpilot.tmux.version import Version


class Tmux:
    """The server on `socket`, or the one that plain `tmux` would use; it starts when it is needed.

    With `ssh`, options and a destination, it is that of another host.
    """

    def __init__(
        self,
        socket: str | None = None,
        *,
        binary: str = "tmux",
        config: str | None = None,
        timeout_s: float = 30,
        passes: tuple[str, ...] | None = None,
        startup: Callable[[Path], Startup] | None = None,
        ssh: str | None = None,
    ) -> None:
        if ssh is not None:
            endpoint: Endpoint = FarEndpoint.to(ssh, socket, binary=binary, config=config)
        else:
            path = checked_socket(socket) if socket is not None else default_socket()
            endpoint = Endpoint(path, binary, config, passes)
        self.connection = Connection(endpoint, timeout_s=timeout_s)
        self.panes = Panes(self.connection)
        self.streams = Streams(self.connection, self.panes)
        self.clients = Clients(self.connection)
        self.buffers = Buffers(self.connection)
        self.capture = Capture(self.connection)
        self.input = Input(self.connection, self.buffers, self.panes)
        self.startups = Startups(None if ssh is not None else startup)
        births = Spawner(self.connection, self.streams, self.startups)
        self.windows = Windows(self.connection, births)
        self.sessions = Sessions(self.connection, self.clients, births)
        self.targets = Targets(self.connection, self.windows, self.panes)

    @property
    def socket(self) -> str:
        """What tells this server from others: the path of its socket, or `ssh:…` on another host."""
        return self.connection.endpoint.socket

    @property
    def is_far(self) -> bool:
        """Whether it is on another host, where files, processes and terminals are not ours to see."""
        return self.connection.endpoint.is_far

    async def version(self) -> Version:
        return await self.connection.server_version()

    async def version_text(self) -> str:
        return await self.connection.server_version_text()

    async def close(self) -> None:
        """Leave the server as it is, and take everything of ours along."""
        await self.buffers.close()
        await self.streams.close()
        await self.connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()
