"""The tmux servers that one muxpilot talks to, each connected when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.shells.startup_files import ShellStart
from muxpilot.tmux import Tmux
from muxpilot.tmux.hosts.endpoint import checked_socket, default_socket
from muxpilot.tmux.hosts.ssh import Route, far_path, identity

Checked = TypeVar("Checked")

DEFAULT = "default"
# What is done only to leave tmux tidy is waited for this long before the connection is closed under it.
_TIDY_S = 0.25


@record
class Named:
    """A server that a call can name instead of giving a path."""

    socket: str | None = None
    ssh: str | None = None

    @property
    def identity(self) -> str:
        """What tells it from others; `socket` of its Tmux is the same."""
        if self.ssh is not None:
            return identity(self.ssh, self.socket)
        return self.path

    @property
    def path(self) -> str:
        """Of the socket, as people are told; empty where only the other host knows it."""
        return self.socket or ("" if self.ssh else default_socket())


class Servers:
    """`prepare` is done to each server before its first use; `sees` says which sockets may be told of.

    `where` tells where a key of the configuration stands, and `ssh_given_by` what gave `ssh`, for errors."""

    def __init__(
        self,
        socket: str | None = None,
        *,
        named: Mapping[str, Named] | None = None,
        ssh: str | None = None,
        ssh_given_by: str = "",
        passes: tuple[str, ...] | None = None,
        prepare: Callable[[Tmux], None] = lambda tmux: None,
        sees: Callable[[str], bool] = lambda socket: True,
        where: Callable[[str], str] = str,
    ) -> None:
        here = socket or default_socket() if ssh is None else socket
        given_by = {"ssh": ssh_given_by}
        self._named = {DEFAULT: _checked(Named(here, ssh), "", lambda key: given_by.get(key, ""))}
        for name, entry in (named or {}).items():
            self._named[name] = _checked(entry, f"servers.{name}.", where)
        self._passes = passes
        self._prepare = prepare
        self._sees = sees
        self._servers: dict[str, Tmux] = {}

    @property
    def default(self) -> Tmux:
        return self.get(None)

    def get(self, socket: str | None) -> Tmux:
        entry = self.entry(socket)
        key = entry.identity
        if key not in self._servers:
            self._servers[key] = tmux = Tmux(
                entry.socket, passes=self._passes, startup=ShellStart, ssh=entry.ssh
            )
            self._prepare(tmux)
        return self._servers[key]

    def entry(self, socket: str | None) -> Named:
        """Of the server that a call means by `socket`."""
        name = DEFAULT if socket is None else socket
        if name in self._named:
            return self._named[name]
        if name and "/" not in name:  # one that is misspelt must not become a server of its own
            what = f"The argument 'socket' is {name[:80]!r}, and no server has that name."
            raise BadInput(what, "Use list-servers to see the names there are, or give the path of a socket.")
        return Named(checked_socket(name))

    def known(self) -> Iterator[tuple[str, Named]]:
        """The default server and those with a name, as far as they may be used."""
        for name, entry in self._named.items():
            if self._sees(entry.identity):
                yield name, entry

    async def close(self) -> None:
        servers, self._servers = self._servers, {}
        await asyncio.gather(*(_leave(server) for server in servers.values()))


def _checked(entry: Named, table: str, where: Callable[[str], str]) -> Named:
    """What is wrong is told at the start; whether a path on another host is good can only be seen there."""
    if entry.ssh is not None:
        _check(where(f"{table}ssh"), Route.parse, entry.ssh)
    if entry.socket is None:
        return entry
    check = checked_socket if entry.ssh is None else far_path
    return replace(entry, socket=_check(where(f"{table}socket"), check, entry.socket))


def _check(where: str, check: Callable[[str], Checked], text: str) -> Checked:
    try:
        return check(text)
    except BadInput as error:
        raise BadInput(f"{where}: {error.what}" if where else error.what, error.hint) from None


async def _leave(server: Tmux) -> None:
    """Quick even if tmux does not answer: a request that is under way ends with the connection."""
    tidying = asyncio.create_task(server.streams.close())
    await asyncio.wait([tidying], timeout=_TIDY_S)
    await server.connection.close()
    await tidying
