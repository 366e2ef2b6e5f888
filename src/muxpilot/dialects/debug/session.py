"""The session of a debug server. It is created with the first pane and ends with the server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from muxpilot.dialects.debug.leftovers import DEBUG_OPTION, find_leftover_sessions, mark_command, session_name
from muxpilot.errors import MuxpilotError, NoServer, NotFound, Refused
from muxpilot.processes.end_processes import end_tree
from muxpilot.processes.proc import has_proc
from muxpilot.processes.process_tree import EnvironmentMark, ProcessTree
from muxpilot.records import record
from muxpilot.tasks import TaskSet
from muxpilot.tmux import ListedPane, PaneId, PaneProgram, SessionId, Tmux
from muxpilot.tmux.objects.owner import this_owner

WIDTH, HEIGHT = 200, 50
# In the environment of all processes of a pane.
MARK_VARIABLE = "MUXPILOT_DEBUG_PANE"

_MOST_NAMES = 100
_CLOSE_S = 0.8


@record
class DebugPane:
    """A pane of this session. `mark` is in the environment of all processes that it started."""

    pane: PaneId
    mark: str


class DebugSession:
    """The session. `forget` is called when it is created again: old panes are gone, ids are reused."""

    def __init__(self, forget: Callable[[], None]) -> None:
        self._forget = forget
        self._id: SessionId | None = None
        self._lock = asyncio.Lock()
        self._creating = TaskSet()
        self._count = 0

    async def end_leftovers(self, tmux: Tmux) -> None:
        """End the sessions and processes that killed debug servers have left behind."""
        with suppress(MuxpilotError):  # if tmux does not answer, the next tool call says so
            for session, owner in await find_leftover_sessions(tmux):
                tree = _tree_of(f"{owner.token}.")
                await asyncio.to_thread(tree.read)
                with suppress(NotFound, NoServer):
                    await tmux.sessions.kill(session)
                await asyncio.to_thread(end_tree, tree)

    async def create_pane(
        self, tmux: Tmux, command: str, title: str, on_created: Callable[[DebugPane], None]
    ) -> None:
        """Create a window that runs a command, and pass it to `on_created`. Finish even if cancelled."""

        async def create() -> None:
            on_created(await self._create(tmux, command, title))

        await asyncio.shield(self._creating.start(create(), name="create pane", is_awaited=True))

    async def _create(self, tmux: Tmux, command: str, title: str) -> DebugPane:
        async with self._lock:
            self._count += 1
            mark = f"{this_owner().token}.{self._count}."
            folder = None if tmux.is_remote else _working_directory()
            program = PaneProgram(command, folder, {MARK_VARIABLE: mark}, remain_on_exit=True)
            if self._id is not None and await self._is_ours(tmux, self._id):
                return DebugPane(
                    (await tmux.windows.create(self._id, name=title, program=program)).pane_id, mark
                )
            return DebugPane(await self._create_session(tmux, title, program), mark)

    async def _create_session(self, tmux: Tmux, title: str, program: PaneProgram) -> PaneId:
        base = session_name(this_owner())
        for name in (base, *(f"{base}-{number}" for number in range(2, _MOST_NAMES))):
            made = await tmux.sessions.create(
                name, window_name=title, width=WIDTH, height=HEIGHT, program=program
            )
            if made.created:
                break
        else:
            raise Refused(f"Every name like {base!r} is taken by another session.", "Kill some of them.")
        # `-e` sets the variable for all later windows of the session, also for those that a person opens.
        unset = ("set-environment", "-t", made.session_id, "-u", MARK_VARIABLE)
        await tmux.connection.run(mark_command(made.session_id), unset)
        self._id = made.session_id
        self._forget()
        return made.pane_id

    async def has(self, tmux: Tmux, pane: PaneId) -> bool:
        """Return whether a pane still exists and is ours: a restarted tmux server reuses ids."""
        return await self._is_ours(tmux, pane)

    async def panes(self, tmux: Tmux) -> Sequence[ListedPane]:
        """Return the panes of the session, or none if it does not exist."""
        if self._id is None or not await self._is_ours(tmux, self._id):
            return []
        return await tmux.panes.list(self._id)

    async def kill(self, tmux: Tmux, made: DebugPane) -> None:
        """Kill a pane and all processes that it started, also those that ignore signals."""
        if _is_far(tmux):
            with suppress(NotFound, NoServer):
                await tmux.endings.kill_pane(made.pane)
            return
        tree = _tree_of(made.mark)
        await asyncio.to_thread(tree.read)
        with suppress(NotFound, NoServer):
            await tmux.panes.kill(made.pane)
        await asyncio.to_thread(end_tree, tree)

    async def close(self, tmux: Tmux) -> None:
        """Kill the session and all its processes, even if tmux does not answer."""
        if self._count == 0 and not self._creating:
            return
        tree = _tree_of(f"{this_owner().token}.")
        try:
            await self._creating.wait(_CLOSE_S)
            tree.read()
            with suppress(MuxpilotError, TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    if self._id is not None and await self._is_ours(tmux, self._id):
                        kill = tmux.endings.kill_session if _is_far(tmux) else tmux.sessions.kill
                        await kill(self._id)
        finally:  # no call runs any more, so this may block
            end_tree(tree)

    async def _is_ours(self, tmux: Tmux, target: SessionId | PaneId) -> bool:
        noun = "session_id" if isinstance(target, SessionId) else "pane_id"
        ask = ("display-message", "-p", "-t", target, f"#{{{noun}}} #{{{DEBUG_OPTION}}}")
        try:
            found = (await tmux.connection.run(ask, repeatable=True)).first_line
        except (NotFound, NoServer):
            return False
        return found.startswith(f"{target} ") and found.endswith(f" {this_owner().token}")


def _is_far(tmux: Tmux) -> bool:
    """Return whether the processes of panes cannot be seen from here."""
    return tmux.is_remote or not has_proc()


def _tree_of(mark: str) -> ProcessTree:
    """Return the processes whose mark begins so. tmux need not answer for that."""
    return ProcessTree([EnvironmentMark((f"{MARK_VARIABLE}={mark}".encode(),))])


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None
