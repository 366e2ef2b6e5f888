"""The tmux servers that one muxpilot talks to, each connected when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from muxpilot.errors import Unavailable
from muxpilot.shells.startup import ShellStart
from muxpilot.tmux import Tmux
from muxpilot.tmux.endpoint import checked_socket, default_socket

# What is done only to leave tmux tidy is waited for this long before the connection is closed under it.
_TIDY_S = 0.25


@dataclass(frozen=True, slots=True)
class Named:
    """A server that a call can name instead of giving a path."""

    socket: str | None = None
    ssh: str | None = None


class Servers:
    """`prepare` is done to each server before its first use; `sees` says which sockets may be told of."""

    def __init__(
        self,
        socket: str | None = None,
        *,
        named: Mapping[str, Named] | None = None,
        ssh: str | None = None,
        passes: tuple[str, ...] | None = None,
        prepare: Callable[[Tmux], None] = lambda tmux: None,
        sees: Callable[[str], bool] = lambda socket: True,
    ) -> None:
        self._default = checked_socket(socket) if socket else default_socket()
        self._ssh = ssh
        self._named = named or {}
        self._passes = passes
        self._prepare = prepare
        self._sees = sees
        self._servers: dict[str, Tmux] = {}

    @property
    def default(self) -> Tmux:
        return self.get(None)

    def get(self, socket: str | None) -> Tmux:
        path = self._path(socket)
        if path not in self._servers:
            self._servers[path] = tmux = Tmux(path, passes=self._passes, startup=ShellStart)
            self._prepare(tmux)
        return self._servers[path]

    def _path(self, socket: str | None) -> str:
        if socket is None:
            if self._ssh is not None:
                raise _far("The default tmux server", self._ssh)
            return self._default
        found = self._named.get(socket)
        if found is None:
            return checked_socket(socket)
        if found.ssh is not None:
            raise _far(f"The server {socket!r}", found.ssh)
        return checked_socket(found.socket) if found.socket else default_socket()

    def known(self) -> Iterator[tuple[str, Named]]:
        """The default server and those with a name, as far as they may be used."""
        for name, entry in (("default", Named(self._default, self._ssh)), *self._named.items()):
            socket = entry.socket or ("" if entry.ssh else default_socket())
            if self._sees(socket):
                yield name, Named(socket, entry.ssh)

    async def close(self) -> None:
        servers, self._servers = self._servers, {}
        await asyncio.gather(*(_leave(server) for server in servers.values()))


def _far(what: str, ssh: str) -> Unavailable:
    return Unavailable(f"{what} is on another host ({ssh}).", "This version reaches this host only.")


async def _leave(server: Tmux) -> None:
    """Quick even if tmux does not answer: a request that is under way ends with the connection."""
    tidying = asyncio.create_task(server.streams.close())
    await asyncio.wait([tidying], timeout=_TIDY_S)
    await server.connection.close()
    await tidying
