"""Which processes may answer: an agent must not answer its own question from a pane that it controls."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise

from muxpilot.errors import MuxpilotError, NoServer
from muxpilot.processes.proc import PROC, find_stat
from muxpilot.tmux import Tmux
from muxpilot.tmux.connection import oneshot
from muxpilot.tmux.hosts.endpoint import Endpoint
from muxpilot.tmux.objects.owner import OWNER_OPTION, parse_owner
from muxpilot.trace import area

_MOST_ANCESTORS = 64
_SERVER_NAME = "tmux: server"
_LIST_PANES = ("list-panes", "-a", "-F", f"#{{pane_id}} #{{pane_pid}} #{{{OWNER_OPTION}}}")

_trace = area("people")


def list_ancestors(pid: int) -> list[int]:
    """Return a process and its ancestors, the nearest first."""
    found: list[int] = []
    while pid > 1 and pid not in found and len(found) < _MOST_ANCESTORS:
        stat = find_stat(PROC, pid)
        if stat is None:
            break
        found.append(pid)
        pid = stat.parent
    return found


async def runs_in_agent_pane(tmux: Tmux, pid: int) -> bool:
    """Return whether a process was started in a pane that a muxpilot created. If tmux cannot say, it was.

    Also a pane of another server than the question's: an agent can start servers of its own.
    """
    ancestors = list_ancestors(pid)
    try:
        if not tmux.is_remote:  # no process on this host is in a pane over there
            reply = await tmux.connection.run(_LIST_PANES, repeatable=True)
            if _names_agent_pane(reply.blocks[0].lines, ancestors):
                return True
    except NoServer:
        pass  # a server that is not running has no panes
    except MuxpilotError as error:
        _trace.warning("panes of agents cannot be listed", error=error)
        return True
    return await _runs_in_pane_of_other_server(tmux, ancestors)


async def _runs_in_pane_of_other_server(tmux: Tmux, ancestors: list[int]) -> bool:
    """Return whether one of these processes is an agent's pane on another tmux server of this host."""
    for pane_pid, server_pid in pairwise(ancestors):
        stat = find_stat(PROC, server_pid)
        if stat is None or stat.name != _SERVER_NAME:
            continue
        socket = _find_socket(pane_pid, server_pid)
        if socket is None:
            return True  # the program hides where it runs
        if not tmux.is_remote and os.path.realpath(socket) == os.path.realpath(tmux.socket):  # noqa: ASYNC240
            continue
        if await _has_agent_pane(socket, ancestors):
            return True
    return False


async def _has_agent_pane(socket: str, ancestors: list[int]) -> bool:
    try:
        reply = await oneshot.run(Endpoint(socket), (_LIST_PANES,))
    except MuxpilotError as error:
        _trace.warning("panes of another tmux server cannot be listed", error=error)
        return True
    return not all(block.ok for block in reply.blocks) or _names_agent_pane(reply.blocks[0].lines, ancestors)


def _find_socket(pane_pid: int, server_pid: int) -> str | None:
    """Return the socket of a tmux server, which the programs of its panes have in their environment."""
    with suppress(OSError):
        for row in PROC.environment(pane_pid).split(b"\0"):
            socket, _, rest = row.removeprefix(b"TMUX=").partition(b",")
            if row.startswith(b"TMUX=") and rest.split(b",")[0] == str(server_pid).encode():
                return os.fsdecode(socket)
    return None


def _names_agent_pane(lines: Iterable[bytes], ancestors: list[int]) -> bool:
    rows = [line.decode("utf-8", "replace").split(" ", 2) for line in lines]
    agents = {int(row[1]) for row in rows if len(row) > 2 and parse_owner(row[0], row[2]) is not None}
    return not agents.isdisjoint(ancestors)
