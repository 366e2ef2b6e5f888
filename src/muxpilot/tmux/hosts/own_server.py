"""The tmux server that this process runs in: it is the parent of the first process of each of its panes.

Many MCP clients do not pass TMUX on, and a TMUX that comes from elsewhere may name a server that is gone. So
the ancestors of this process decide, and the variable only helps.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from muxpilot.config import environment
from muxpilot.processes.ancestors import Ancestor, find_ancestors
from muxpilot.processes.proc import PROC, has_proc
from muxpilot.records import record
from muxpilot.trace import area

_SERVER_NAME = "tmux"  # the title of a server's process begins with it
_LISTENS = "00010000"  # the flags of a listening socket in /proc/net/unix
_ASK_LIMIT_S = 1.0
_trace = area("tmux")


@record
class TmuxChild:
    """A process of ours that a tmux server has started: the first process of a pane, or of a job."""

    pid: int
    server: int


def find_tmux_children() -> list[TmuxChild]:
    """Return those of our ancestors that tmux servers have started, the nearest first."""
    line = find_ancestors()
    servers = {row.pid for row in line if _is_server(row)}
    return [TmuxChild(row.pid, row.parent) for row in line if row.parent in servers]


def _is_server(process: Ancestor) -> bool:
    return process.name.startswith(_SERVER_NAME)


def find_own_socket() -> str:
    """Return the socket of the tmux server that this process runs in, or an empty text.

    A TMUX_TMPDIR without TMUX says that a person has chosen another server.
    """
    given, pid = environment.own_socket(), environment.own_server_pid()
    children = find_tmux_children()
    if given and pid in {child.server for child in children}:
        return given
    if given or not environment.variable("TMUX_TMPDIR"):
        found = next(filter(None, (_find_socket(child) for child in children)), "")
        if found:
            return found
    return given if _is_socket(given) else ""


@lru_cache(maxsize=8)
def _find_socket(child: TmuxChild) -> str:
    sources = (_sockets_in_environment, _listening_sockets) if has_proc() else (_sockets_by_asking,)
    for source in sources:
        for path in source(child):
            if os.path.isabs(path) and _is_socket(path):
                _trace.debug("own tmux server found", server=path, pid=child.server, by=source.__name__)
                return path
    return ""


def _is_socket(path: str) -> bool:
    try:
        return bool(path) and stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def _sockets_in_environment(child: TmuxChild) -> Iterator[str]:
    """Yield the socket that tmux has told the process, unless the process has begun with another TMUX."""
    try:
        rows = PROC.environment(child.pid).split(b"\0")
    except OSError:  # the process belongs to another user
        return
    for row in rows:
        if row.startswith(b"TMUX="):
            variables = {"TMUX": os.fsdecode(row.removeprefix(b"TMUX="))}
            if environment.own_server_pid(variables) == child.server:
                yield environment.own_socket(variables)


def _listening_sockets(child: TmuxChild) -> Iterator[str]:
    """Yield the paths of the sockets that the server listens on."""
    try:
        files = set(PROC.open_files(child.server).values())
        rows = PROC.unix_sockets(child.server)
    except OSError:  # the server belongs to another user, so we cannot use it
        return
    for row in rows:
        if row.flags == _LISTENS and f"socket:[{row.inode}]" in files:
            yield row.path


def _sockets_by_asking(child: TmuxChild) -> Iterator[str]:
    """Yield the sockets in the user's folder whose server has this pid."""
    for path in sorted(Path("/tmp", f"tmux-{os.getuid()}").glob("*")):
        argv = ["tmux", "-S", str(path), "display-message", "-p", "#{pid}"]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=_ASK_LIMIT_S, check=False)
        except (OSError, subprocess.SubprocessError):
            continue
        if done.stdout.strip() == str(child.server):
            yield str(path)
