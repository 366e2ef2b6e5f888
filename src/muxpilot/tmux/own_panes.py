"""The panes that this process runs in. It must not type into them or end them."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import cached_property

from muxpilot.config import environment
from muxpilot.errors import NoServer
from muxpilot.processes.proc import PROC, find_stat
from muxpilot.tmux.hosts.own_server import find_tmux_children
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.tmux import Tmux

# Where people write TMUX by hand, the server's process is often 0 or 1.
_NO_PID = (0, 1)
_CLOCK_TOLERANCE_S = 3.0


class OwnPanes:
    """Finds the pane of each server that this process runs in. `variables` are those of the process.

    A server is asked once. The first process of a pane is an ancestor of ours, and its server is the parent
    of it. Where no server is an ancestor, as after a program that has become a daemon, TMUX and TMUX_PANE
    are believed if the server has the process that TMUX names.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._known: dict[tuple[str, int], PaneId | None] = {}

    async def find(self, tmux: Tmux) -> PaneId | None:
        """Return our pane on this server, or None."""
        if self._is_outside:
            return None
        try:
            pid = tmux.connection.server_pid or (await tmux.connection.server_process())[0]
        except NoServer:
            return None
        key = (tmux.socket, pid)
        if key not in self._known:
            found = await _find_by_ancestors(tmux, pid) or self._find_by_variables(tmux, pid)
            self._known[key] = found
            tmux.connection.endpoint.trace.debug("own pane looked for", pid=pid, pane=found)
        return self._known[key]

    @cached_property
    def _is_outside(self) -> bool:
        """Return whether nothing says that this process runs in a pane, so that no server need be asked."""
        return not find_tmux_children() and not environment.own_pane(self._variables)

    def _find_by_variables(self, tmux: Tmux, server: int) -> PaneId | None:
        socket, pane = environment.own_socket(self._variables), environment.own_pane(self._variables)
        if not socket or not PaneId.matches(pane) or tmux.is_remote:
            return None
        is_stale = environment.own_server_pid(self._variables) not in (server, *_NO_PID)
        if is_stale or os.path.realpath(socket) != os.path.realpath(tmux.socket):
            return None
        return PaneId(pane)


async def _find_by_ancestors(tmux: Tmux, server: int) -> PaneId | None:
    """Return the pane whose first process is an ancestor of ours, and whose server has started it."""
    ours = {child.pid for child in find_tmux_children() if child.server == server}
    if not ours or (tmux.is_remote and not await _is_process_here(tmux)):
        return None
    ask = ("list-panes", "-a", "-F", "#{pane_pid} #{pane_id}")
    for line in (await tmux.connection.run(ask, repeatable=True)).blocks[0].lines:
        pid, _, pane = line.decode("ascii", "replace").partition(" ")
        if pid.isdigit() and int(pid) in ours and PaneId.matches(pane):
            return PaneId(pane)
    return None


async def _is_process_here(tmux: Tmux) -> bool:
    """Tell a server of this machine, reached by ssh, from one elsewhere whose process has the same number."""
    pid, started = await tmux.connection.server_process()
    stat = find_stat(PROC, pid)
    if stat is None:
        return False
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    here = booted + stat.start_time / os.sysconf("SC_CLK_TCK")
    return abs(here - started) < _CLOCK_TOLERANCE_S
