"""The tmux servers that one muxpilot talks to, each connected when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from muxpilot.errors import BadInput
from muxpilot.shells.startup import ShellStart
from muxpilot.tmux import Tmux
from muxpilot.tmux.endpoint import checked_socket, default_socket
from muxpilot.tmux.ssh import FarEndpoint, identity

# What is done only to leave tmux tidy is waited for this long before the connection is closed under it.
_TIDY_S = 0.25


@dataclass(frozen=True, slots=True)
class Named:
    """A server that a call can name instead of giving a path."""

    socket: str | None = None
    ssh: str | None = None

    @property
    def identity(self) -> str:
        """What tells it from others; `socket` of its Tmux is the same."""
        if self.ssh is not None:
            return identity(self.ssh, self.socket)
        return self.socket or default_socket()


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
        here = socket or default_socket() if ssh is None else socket
        self._default = _checked("", Named(here, ssh))
        pairs = (named or {}).items()
        self._named = {name: _checked(f"servers.{name}.ssh: ", entry) for name, entry in pairs}
        self._passes = passes
        self._prepare = prepare
        self._sees = sees
        self._servers: dict[str, Tmux] = {}

    @property
    def default(self) -> Tmux:
        return self.get(None)

    def get(self, socket: str | None) -> Tmux:
        entry = self._entry(socket)
        key = entry.identity
        if key not in self._servers:
            self._servers[key] = tmux = Tmux(
                entry.socket, passes=self._passes, startup=ShellStart, ssh=entry.ssh
            )
            self._prepare(tmux)
        return self._servers[key]

    def _entry(self, socket: str | None) -> Named:
        if socket is None:
            return self._default
        return self._named.get(socket) or Named(checked_socket(socket))

    def known(self) -> Iterator[tuple[str, Named]]:
        """The default server and those with a name, as far as they may be used."""
        for name, entry in (("default", self._default), *self._named.items()):
            if self._sees(entry.identity):
                yield name, entry

    async def close(self) -> None:
        servers, self._servers = self._servers, {}
        await asyncio.gather(*(_leave(server) for server in servers.values()))


def _checked(where: str, entry: Named) -> Named:
    """A route that is wrong is told at the start; a path there is nobody's to check from here."""
    if entry.ssh is None:
        return Named(checked_socket(entry.socket)) if entry.socket else entry
    try:
        FarEndpoint.to(entry.ssh, entry.socket)
    except BadInput as error:
        raise BadInput(f"{where}{error.what}", error.hint) from None
    return entry


async def _leave(server: Tmux) -> None:
    """Quick even if tmux does not answer: a request that is under way ends with the connection."""
    tidying = asyncio.create_task(server.streams.close())
    await asyncio.wait([tidying], timeout=_TIDY_S)
    await server.connection.close()
    await tidying
