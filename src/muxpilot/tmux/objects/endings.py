"""End panes, windows and sessions with all processes in them, also those that ignore SIGHUP.

tmux closes the terminals, which sends SIGHUP. The process trees are read before that, because they fall apart
when the first processes end. What is left then gets SIGTERM and SIGKILL (`processes/end_processes.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from muxpilot.errors import NotFound
from muxpilot.processes.end_processes import EndedProcess, end_tree
from muxpilot.processes.proc import PROC, find_stat, has_proc
from muxpilot.processes.process_tree import EnvironmentMark, PaneProgramProcess, ProcessTree
from muxpilot.records import record
from muxpilot.tasks import TaskSet
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.connection.failures import error_from_message
from muxpilot.tmux.formats import fields, flag, process_id
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.objects.windows import Windows

__all__ = ["EndedProcess", "Endings"]

if TYPE_CHECKING:
    from muxpilot.processes.far_process_tree import FarPanes

Ended = Sequence[EndedProcess]


@record
class PaneWithProcess:
    """A pane in a session, with the process of its program. A linked pane has several of these."""

    id: PaneId
    window_id: WindowId
    session_id: SessionId
    pid: int
    is_dead: bool
    server_pid: int
    socket: str


_PANE_WITH_PROCESS = fields(
    id=("pane_id", PaneId),
    window_id=("window_id", WindowId),
    session_id=("session_id", SessionId),
    pid=("pane_pid", process_id),
    is_dead=("pane_dead", flag),
    server_pid=("pid", int),
    socket=("socket_path", str),
)


# Follows the command that kills, in the same request: the panes that are left.
_LIST_IDS = ("list-panes", "-a", "-F", "#{pane_id}")


class Endings:
    """Ends the panes, windows and sessions of one server."""

    def __init__(self, connection: Connection, windows: Windows) -> None:
        self._connection = connection
        self._windows = windows
        self._trace = connection.endpoint.trace
        self._tasks = TaskSet(self._trace)

    async def kill_pane(self, pane: PaneId) -> Ended:
        """Kill a pane. Return the processes that needed more than SIGHUP."""
        return await self._kill(
            ("kill-pane", "-t", pane), lambda rows: [row for row in rows if row.id == pane]
        )

    async def kill_window(self, window: WindowId) -> Ended:
        """Kill a window in all sessions that show it. Return the processes that needed more than SIGHUP."""
        return await self._kill(
            ("kill-window", "-t", window), lambda rows: [row for row in rows if row.window_id == window]
        )

    async def kill_session(self, session: SessionId, command: Command | None = None) -> Ended:
        """Kill a session. Return the processes that needed more than SIGHUP.

        `command` is another tmux command that kills the session, perhaps only under a condition.
        """
        kill = command or ("kill-session", "-t", session)
        return await self._kill(kill, lambda rows: _panes_only_in(session, rows))

    async def respawn(self, pane: PaneId, *, command: str | None = None) -> Ended:
        """Start a command, or the shell, in a pane, and end all that ran in it before."""
        return await self._shield(self._respawn(pane, command))

    async def list_processes(self, pane: PaneId) -> list[int] | None:
        """Return the pids of all processes of a pane, or None if the pane does not exist."""
        rows = [row for row in await self._list_panes() if row.id == pane]
        if not rows:
            return None
        if not has_proc() or self._connection.endpoint.is_remote:
            from muxpilot.processes.far_process_tree import parse_processes

            lines = await self._connection.run_shell_line(_far_panes(rows).scan_script())
            return [int(word.partition(":")[0]) for word in parse_processes(lines)]
        return [each.pid for each in await asyncio.to_thread(_tree_of(rows).read)]

    async def _kill(
        self, command: Command, choose: Callable[[Sequence[PaneWithProcess]], list[PaneWithProcess]]
    ) -> Ended:
        return await self._shield(self._kill_now(command, choose))

    async def _shield(self, work: Awaitable[Ended]) -> Ended:
        """Do the work to its end, also if the caller stops waiting: half of a tree must not be left."""

        async def run() -> Ended:
            return await work

        return await asyncio.shield(self._tasks.start(run(), name="end processes", is_awaited=True))

    async def _kill_now(
        self, command: Command, choose: Callable[[Sequence[PaneWithProcess]], list[PaneWithProcess]]
    ) -> Ended:
        chosen = choose(await self._list_panes())
        if not has_proc() or self._connection.endpoint.is_remote:
            return await self._kill_far(command, chosen)
        tree = _tree_of(chosen)
        await asyncio.to_thread(tree.read)
        async with self._connection.lock_for_session_change():  # the last pane ends its session
            reply = await self._connection.run(command, _LIST_IDS)
        remaining = {line.decode("ascii", "replace") for line in reply.blocks[-1].lines}
        gone = [row for row in chosen if row.id not in remaining]
        self._trace.debug("killed", command=command[0], panes=len(gone))
        if len(gone) < len(chosen):  # a condition did not hold, or another session shows a pane by now
            tree = _tree_of(gone)
        return await asyncio.to_thread(end_tree, tree) if gone else []

    async def _kill_far(self, command: Command, chosen: Sequence[PaneWithProcess]) -> Ended:
        from muxpilot.processes import far_process_tree as far  # most servers are on this host

        if not chosen:
            async with self._connection.lock_for_session_change():
                await self._connection.run(command)
            return []
        words = [word if isinstance(word, str) else word.decode() for word in command]
        script = _far_panes(chosen).kill_script(self._connection.endpoint.binary, words)
        async with self._connection.lock_for_session_change():
            lines = await self._connection.run_shell_line(script, repeatable=False)
        failure = far.parse_failure(lines)
        if failure is not None:
            raise error_from_message(failure)
        return far.parse_ended(lines)

    async def _respawn(self, pane: PaneId, command: str | None) -> Ended:
        rows = [row for row in await self._list_panes() if row.id == pane]
        if not rows:
            raise NotFound("pane", pane)
        if not has_proc() or self._connection.endpoint.is_remote:
            return await self._respawn_far(pane, rows, command)
        tree = _tree_of(rows)
        await asyncio.to_thread(tree.read)
        await self._windows.respawn(pane, command=command, kill=True)
        # The new program has the mark of the pane too.
        started = [find_stat(PROC, row.pid) for row in await self._list_panes() if row.id == pane]
        tree.started_before = min((stat.start_time for stat in started if stat is not None), default=0)
        return await asyncio.to_thread(end_tree, tree)

    async def _respawn_far(self, pane: PaneId, rows: Sequence[PaneWithProcess], command: str | None) -> Ended:
        from muxpilot.processes import far_process_tree as far

        panes, run = _far_panes(rows), self._connection.run_shell_line
        processes = far.parse_processes(await run(panes.scan_script()))
        await self._windows.respawn(pane, command=command, kill=True)
        if not processes:
            return []
        return far.parse_ended(await run(panes.end_script(processes), repeatable=False))

    async def _list_panes(self) -> Sequence[PaneWithProcess]:
        return await self._connection.list_all_records(
            _PANE_WITH_PROCESS, PaneWithProcess, "list-panes", "-a"
        )


def _panes_only_in(session: SessionId, rows: Sequence[PaneWithProcess]) -> list[PaneWithProcess]:
    """Return the panes that no other session shows: those end with the session."""
    elsewhere = {row.window_id for row in rows if row.session_id != session}
    return [row for row in rows if row.session_id == session and row.window_id not in elsewhere]


def _tree_of(panes: Sequence[PaneWithProcess]) -> ProcessTree:
    """Return the tree of panes. The pid of a dead pane may be that of another process by now."""
    return ProcessTree(
        {EnvironmentMark.of_pane(row.id, row.socket, row.server_pid) for row in panes},
        {PaneProgramProcess(row.pid, row.server_pid) for row in panes if not row.is_dead},
    )


def _far_panes(panes: Sequence[PaneWithProcess]) -> FarPanes:
    from muxpilot.processes.far_process_tree import FarPanes

    programs = {row.pid for row in panes if not row.is_dead}
    ids = dict.fromkeys(str(row.id) for row in panes)
    return FarPanes(tuple(ids), tuple(programs), panes[0].server_pid, panes[0].socket)
