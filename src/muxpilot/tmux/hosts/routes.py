"""The table of routes: the ways to a tmux server that is not on this host, and which of them was given."""

from __future__ import annotations

from functools import lru_cache

from muxpilot.errors import BadInput
from muxpilot.tmux.hosts.exec_command import ExecRoute
from muxpilot.tmux.hosts.far import FarRoute
from muxpilot.tmux.hosts.ssh import SshRoute

# One row for each kind. The kind is the flag and the key of the configuration.
ROUTES: dict[str, type[SshRoute] | type[ExecRoute]] = {row.kind: row for row in (SshRoute, ExecRoute)}


@lru_cache(maxsize=64)
def find_route(ssh: str | None, exec_command: str | None) -> FarRoute | None:
    """Return the route that is given by its text, or None for a server of this host."""
    given = {"ssh": ssh, "exec": exec_command}
    found = [ROUTES[kind].parse(text) for kind, text in given.items() if text is not None]
    if len(found) > 1:
        raise BadInput("ssh and exec are both given.", "Give one of them: each leads to another host.")
    return found[0] if found else None


def is_far_identity(socket: str) -> bool:
    """Tell the identity of a far server from the path of a local socket, which begins with a slash."""
    return socket.partition(":")[0] in ROUTES
