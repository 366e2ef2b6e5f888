"""Which processes may answer: an agent must not answer its own question from a pane that it controls."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import pairwise

from muxpilot.errors import MuxpilotError, NoServer
from muxpilot.processes.proc import PROC, find_stat
from muxpilot.tmux import Tmux
from muxpilot.tmux.connection import oneshot
from muxpilot.tmux.formats import process_id
from muxpilot.tmux.hosts.endpoint import Endpoint
from muxpilot.tmux.objects.owner import OWNER_OPTION, parse_owner
from muxpilot.trace import area

_MOST_ANCESTORS = 64
_SERVER_NAME = "tmux: server"
# The newest job comes first.
_LIST_JOBS = ("show-messages", "-J")
_JOB_PROCESS = re.compile(rb"pid=(\d+), status=\d+\]$")
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
    """Return whether a process was started in a pane that an agent uses. If that cannot be told, it was.

    An agent uses the panes that a muxpilot created, and those that this process has typed into. A pane of
    another server than the question's counts too: an agent can start servers of its own.
    """
    ancestors = list_ancestors(pid)
    if not ancestors:
        return True  # it has ended, and must not be taken for a person's program because of that
    try:
        if not tmux.is_remote:  # no process on this host is in a pane over there
            reply = await tmux.connection.run(_LIST_PANES, repeatable=True)
            if _names_agent_pane(reply.blocks[0].lines, ancestors, tmux.input.panes_typed_into):
                return True
    except NoServer:
        pass  # a server that is not running has no panes
    except MuxpilotError as error:
        _trace.warning("panes of agents cannot be listed", error=error)
        return True
    return await _runs_in_pane_of_other_server(tmux, ancestors) or await _has_left_agent_pane(ancestors)


async def is_tmux_job(pid: int) -> bool:
    """Return whether tmux started a process outside of its panes, such as by run-shell, `#(…)` or a hook.

    An agent can let tmux start a program in this way, which is below no pane then. After setsid only its
    environment tells it: TMUX is set there, and TMUX_PANE is not.
    """
    ancestors = list_ancestors(pid)
    is_below_server = False
    for started, server_pid in pairwise(ancestors):
        if not _is_server(server_pid):
            continue
        is_below_server = True
        socket = _find_socket(started, server_pid)
        if socket is None or started not in await _list_pane_processes(socket):
            return True
    server, pane = _find_pane_in_environment(pid)
    return not is_below_server and bool(server) and not pane


async def runs_in_popup(tmux: Tmux, key: str, pid: int) -> bool:
    """Return whether a process is the program of the popup with this key. If that cannot be told, it is not.

    Every program of the user can read the key, in the arguments of that program or in the jobs of tmux. So a
    later job of tmux can have the key as well: the oldest one is the popup.
    """
    try:
        reply = await tmux.connection.run(_LIST_JOBS, repeatable=True)
    except MuxpilotError as error:
        _trace.warning("jobs of tmux cannot be listed", error=error)
        return False
    jobs = [line for block in reply.blocks for line in block.lines if key.encode() in line]
    found = _JOB_PROCESS.search(jobs[-1]) if jobs else None
    return found is not None and int(found[1]) == pid


async def _list_pane_processes(socket: str) -> set[int]:
    """Return the processes that a tmux server has started in its panes."""
    try:
        reply = await oneshot.run(Endpoint(socket), (_LIST_PANES,))
    except MuxpilotError as error:
        _trace.warning("panes of a tmux server cannot be listed", error=error)
        return set()
    rows = [line.decode("utf-8", "replace").split(" ", 2) for line in reply.blocks[0].lines]
    return {process_id(row[1]) for row in rows if len(row) > 1}


async def _has_left_agent_pane(ancestors: list[int]) -> bool:
    """Return whether a process has no tmux server above it, but has the environment of an agent's pane.

    A program that forks and calls setsid is no longer below its pane. A pane that has gone is not known.
    """
    if any(_is_server(pid) for pid in ancestors):
        return False
    for pid in ancestors:
        server, pane = _find_pane_in_environment(pid)
        if not server or not os.path.exists(server):  # noqa: ASYNC240 - a local name
            continue
        try:
            reply = await oneshot.run(Endpoint(server), (_LIST_PANES,))
        except MuxpilotError as error:
            _trace.debug("the server of a pane is gone", error=error)
            continue
        if pane in _list_agent_panes(reply.blocks[0].lines):
            return True
    return False


async def _runs_in_pane_of_other_server(tmux: Tmux, ancestors: list[int]) -> bool:
    """Return whether one of these processes is an agent's pane on another tmux server of this host."""
    for pane_pid, server_pid in pairwise(ancestors):
        if not _is_server(server_pid):
            continue
        socket = _find_socket(pane_pid, server_pid)
        if socket is None:
            return True  # the program hides where it runs
        if not tmux.is_remote and _is_same_path(socket, tmux.socket):
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


def _is_server(pid: int) -> bool:
    stat = find_stat(PROC, pid)
    return stat is not None and stat.name == _SERVER_NAME


def _is_same_path(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _find_socket(pane_pid: int, server_pid: int) -> str | None:
    """Return the socket of a tmux server, which the programs of its panes have in their environment."""
    socket, _, rest = _read_variable(pane_pid, "TMUX").partition(",")
    return socket if rest.split(",")[0] == str(server_pid) else None


def _find_pane_in_environment(pid: int) -> tuple[str, str]:
    """Return the socket and the pane that a process was started in; empty texts if it was in none."""
    return _read_variable(pid, "TMUX").partition(",")[0], _read_variable(pid, "TMUX_PANE")


def _read_variable(pid: int, name: str) -> str:
    """Return a variable from the environment of a process; an empty text if that cannot be read."""
    start = f"{name}=".encode()
    with suppress(OSError):
        for row in PROC.environment(pid).split(b"\0"):
            if row.startswith(start):
                return os.fsdecode(row.removeprefix(start))
    return ""


def _names_agent_pane(lines: Iterable[bytes], ancestors: list[int], typed: Collection[str] = ()) -> bool:
    return not set(_list_agent_panes(lines, typed).values()).isdisjoint(ancestors)


def _list_agent_panes(lines: Iterable[bytes], typed: Collection[str] = ()) -> dict[str, int]:
    """Return the panes that an agent uses, each with the process of its program."""
    rows = [line.decode("utf-8", "replace").split(" ", 2) for line in lines]
    return {
        row[0]: process_id(row[1])
        for row in rows
        if len(row) > 2 and (row[0] in typed or parse_owner(row[0], row[2]) is not None)
    }
