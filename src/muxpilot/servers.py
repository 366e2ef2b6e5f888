"""The tmux servers that one muxpilot talks to, each connected when it is first needed."""

from __future__ import annotations

import asyncio

from muxpilot.tmux import Tmux
from muxpilot.tmux.endpoint import checked_socket, default_socket

# What is done only to leave tmux tidy is waited for this long before the connection is closed under it.
_TIDY_S = 0.25


class Servers:
    def __init__(self, socket: str | None = None) -> None:
        self._default = checked_socket(socket) if socket else default_socket()
        self._servers: dict[str, Tmux] = {}

    @property
    def default(self) -> Tmux:
        return self.get(None)

    def get(self, socket: str | None) -> Tmux:
        path = checked_socket(socket) if socket is not None else self._default
        if path not in self._servers:
            self._servers[path] = Tmux(path)
        return self._servers[path]

    async def close(self) -> None:
        servers, self._servers = self._servers, {}
        await asyncio.gather(*(_leave(server) for server in servers.values()))


async def _leave(server: Tmux) -> None:
    """Quick even if tmux does not answer: a request that is under way ends with the connection."""
    tidying = asyncio.create_task(server.streams.close())
    await asyncio.wait([tidying], timeout=_TIDY_S)
    await server.connection.close()
    await tidying
