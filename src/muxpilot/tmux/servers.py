"""The tmux servers that one muxpilot talks to, each connected when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from muxpilot.errors import BadInput
from muxpilot.journal.journals import Journals
from muxpilot.records import record
from muxpilot.tmux.hosts.endpoint import default_socket, validate_socket_path
from muxpilot.tmux.hosts.far import FarRoute, validate_far_path
from muxpilot.tmux.hosts.routes import ROUTES, find_route
from muxpilot.tmux.objects.shell_startup import ShellStartup
from muxpilot.tmux.tmux import ServerRowFilter, Tmux
from muxpilot.trace import area

Checked = TypeVar("Checked")

DEFAULT_SERVER = "default"
# How long to wait for streams to close in order before the connection is closed under them.
_STREAMS_CLOSE_S = 0.25
_MOST_NAMES = 20  # in an error


@record
class ServerAddress:
    """The place of a tmux server: a socket here, or on the host that `ssh` or `exec_command` leads to."""

    socket: str | None = None
    ssh: str | None = None
    exec_command: str | None = None

    @property
    def route(self) -> FarRoute | None:
        """Return the way to the server, or None for a server of this host."""
        return find_route(self.ssh, self.exec_command)

    @property
    def identity(self) -> str:
        """Return the text that identifies the server, the same as `Tmux.socket`."""
        return self.route.identity(self.socket) if self.route is not None else self.path

    @property
    def path(self) -> str:
        """Return the path of the socket, for people; empty where only the other host knows it."""
        return self.socket or ("" if self.route is not None else default_socket())

    @property
    def words(self) -> str:
        """Return where the server is, for people: `the default socket by ssh build`."""
        if self.route is None:
            return self.path
        return f"{self.path or 'the default socket'} by {self.route.kind} {self.route.text}"


class TmuxServers:
    """The servers by name or socket.

    `startup` creates the start-up files of a new shell, and `row_filter` hides records from listings; both
    are passed to each `Tmux`. `is_visible` says which servers callers may know of. For error messages,
    `locate_key` returns where a configuration key was set, and `given_by` names the source of the default
    server's `ssh` or `exec`.
    `journals` keep the output of panes; without them it is kept in memory only.
    """

    def __init__(
        self,
        socket: str | None = None,
        *,
        addresses: Mapping[str, ServerAddress] | None = None,
        ssh: str | None = None,
        exec_command: str | None = None,
        given_by: Mapping[str, str] | None = None,
        passed_variables: tuple[str, ...] | None = None,
        startup: Callable[[Path], ShellStartup] | None = None,
        row_filter: ServerRowFilter | None = None,
        is_visible: Callable[[str], bool] = lambda socket: True,
        locate_key: Callable[[str], str] = str,
        journals: Journals | None = None,
    ) -> None:
        is_here = ssh is None and exec_command is None
        default = ServerAddress(socket or default_socket() if is_here else socket, ssh, exec_command)
        sources = given_by or {}
        self._addresses = {DEFAULT_SERVER: _validate_address(default, "", lambda key: sources.get(key, ""))}
        for name, address in (addresses or {}).items():
            self._addresses[name] = _validate_address(address, f"servers.{name}.", locate_key)
        self._passed_variables = passed_variables
        self._startup = startup
        self._row_filter = row_filter
        self._is_visible = is_visible
        self.journals = journals
        self._servers: dict[str, Tmux] = {}
        self._close_lock = asyncio.Lock()

    @property
    def default(self) -> Tmux:
        return self.get(None)

    def get(self, socket: str | None) -> Tmux:
        """Return the server that a call means by `socket`: a name, a path, or None for the default one."""
        address = self.resolve_address(socket)
        key = address.identity
        if key not in self._servers:
            self._servers[key] = Tmux(
                address.socket,
                passed_variables=self._passed_variables,
                startup=self._startup,
                row_filter=self._row_filter,
                ssh=address.ssh,
                exec_command=address.exec_command,
                journals=self.journals,
                keeps_journals=self.journals is not None,
            )
        return self._servers[key]

    def find(self, identity: str) -> Tmux | None:
        """Return a server that was used before, by what identifies it: its `socket`."""
        return self._servers.get(identity)

    def resolve_address(self, socket: str | None) -> ServerAddress:
        """Return the address of the server that a call means by `socket`, or raise BadInput.

        The identity of a server, such as `ssh:…`, means that server too: muxpilot itself names it so.
        """
        name = DEFAULT_SERVER if socket is None else socket
        if name in self._addresses:
            return self._addresses[name]
        known = [address for address in self._addresses.values() if address.identity == name]
        if known:
            return known[0]
        if name and "/" not in name:  # a misspelt name must not become a server of its own
            what = f"The argument 'socket' is {name[:80]!r}, and no server has that name."
            raise BadInput(what, self._name_servers())
        return ServerAddress(validate_socket_path(name))

    def visible_addresses(self) -> Iterator[tuple[str, ServerAddress]]:
        """Yield the default server and the named ones, with their names, as far as callers may know them."""
        for name, address in self._addresses.items():
            if self._is_visible(address.identity):
                yield name, address

    def _name_servers(self) -> str:
        """Return the hint that says which names there are: not every scope has list-servers."""
        names = [name for name, _ in self.visible_addresses()]
        more = ", …" if len(names) > _MOST_NAMES else ""
        given = f"one of: {', '.join(names[:_MOST_NAMES])}{more}; or " if names else ""
        return f"Give {given}the path of a socket."

    async def close(self) -> None:
        """Close all connections. A second call waits for the first."""
        async with self._close_lock:
            servers, self._servers = self._servers, {}
            with area("tmux").step("servers closed", count=len(servers)):
                await asyncio.gather(*(_close_server(server) for server in servers.values()))
            if self.journals is not None:
                await self.journals.close()


def _validate_address(address: ServerAddress, table: str, locate_key: Callable[[str], str]) -> ServerAddress:
    """Return the address with an absolute path, or raise BadInput with the key of the configuration.

    This runs at the start. Only the other host can tell whether a path there is good.
    """
    for kind, text in (("ssh", address.ssh), ("exec", address.exec_command)):
        if text is not None:
            _name_key_in_errors(locate_key(f"{table}{kind}"), ROUTES[kind].parse, text)
    is_far = _name_key_in_errors(locate_key(f"{table}exec"), lambda _: address.route, "") is not None
    if address.socket is None:
        return address
    validate = validate_far_path if is_far else validate_socket_path
    return replace(
        address, socket=_name_key_in_errors(locate_key(f"{table}socket"), validate, address.socket)
    )


def _name_key_in_errors(key: str, check: Callable[[str], Checked], text: str) -> Checked:
    try:
        return check(text)
    except BadInput as error:
        raise BadInput(f"{key}: {error.what}" if key else error.what, error.hint) from None


async def _close_server(server: Tmux) -> None:
    """Close a server's streams and connection, quickly even if tmux does not answer.

    A request that still waits for tmux ends with the connection. The connection also removes the start-up
    files of shells, which may not have been read yet.
    """
    await server.streams.wait_for_starting_programs()
    closing = asyncio.create_task(server.streams.close())
    await asyncio.wait([closing], timeout=_STREAMS_CLOSE_S)
    await server.connection.close()
    await closing
