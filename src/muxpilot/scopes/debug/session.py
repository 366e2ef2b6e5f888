"""The one session of a debug server: made with its first pane, gone with the server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from muxpilot.errors import MuxpilotError, NoServer, NotFound, Refused
from muxpilot.scopes.debug import processes
from muxpilot.scopes.debug.owner import Owner, abandoned
from muxpilot.tmux import Pane, PaneId, Program, SessionId, Tmux

WIDTH, HEIGHT = 200, 50

_MOST_NAMES = 100
_GOODBYE_S = 0.5


@dataclass(frozen=True, slots=True)
class Made:
    """A pane of ours; `mark` is in the environment of all that it started."""

    pane: PaneId
    mark: str


class DebugSession:
    def __init__(self) -> None:
        self._owner: Owner | None = None
        self._id: SessionId | None = None
        self._lock = asyncio.Lock()
        self._making: set[asyncio.Task[Made]] = set()
        self._count = 0

    @property
    def owner(self) -> Owner:
        if self._owner is None:
            self._owner = Owner()
        return self._owner

    async def reap(self, tmux: Tmux) -> None:
        """End what muxpilots that were killed have left."""
        with suppress(MuxpilotError):  # a tmux that cannot be asked is told to whoever calls a tool
            for session, owner in await abandoned(tmux):
                known = await asyncio.to_thread(processes.marked, f"{owner.token}.")
                with suppress(NotFound):
                    await tmux.sessions.kill(session)
                await processes.end(f"{owner.token}.", known)

    async def make(self, tmux: Tmux, command: str, title: str) -> Made:
        """A window that runs a command. A caller who leaves does not leave half of one behind."""
        task = asyncio.create_task(self._make(tmux, command, title))
        self._making.add(task)
        task.add_done_callback(self._making.discard)
        return await asyncio.shield(task)

    async def _make(self, tmux: Tmux, command: str, title: str) -> Made:
        async with self._lock:
            self._count += 1
            mark = f"{self.owner.token}.{self._count}."
            folder = None if tmux.is_far else _folder()
            program = Program(command, folder, {processes.VARIABLE: mark}, remain_on_exit=True)
            if self._id is not None and await self._is_ours(tmux, self._id):
                return Made((await tmux.windows.create(self._id, name=title, program=program)).pane_id, mark)
            return Made(await self._begin(tmux, title, program), mark)

    async def _begin(self, tmux: Tmux, title: str, program: Program) -> PaneId:
        base = self.owner.session_name
        for name in (base, *(f"{base}-{number}" for number in range(2, _MOST_NAMES))):
            made = await tmux.sessions.create(
                name, window_name=title, width=WIDTH, height=HEIGHT, program=program
            )
            if made.created:
                break
        else:
            raise Refused(f"Every name like {base!r} is taken by another session.", "End some of them.")
        # `-e` set the variable for later windows too, those of a person included.
        unset = ("set-environment", "-t", made.session_id, "-u", processes.VARIABLE)
        await tmux.connection.run(self.owner.mark(made.session_id), unset)
        self._id = made.session_id
        return made.pane_id

    async def has(self, tmux: Tmux, pane: PaneId) -> bool:
        """Whether a pane is still there, and still ours: another tmux server uses the same ids."""
        return await self._is_ours(tmux, pane)

    async def panes(self, tmux: Tmux) -> Sequence[Pane]:
        if self._id is None or not await self._is_ours(tmux, self._id):
            return []
        return await tmux.panes.list(self._id)

    async def kill(self, tmux: Tmux, made: Made) -> None:
        """A pane and all that it started, whatever that ignores."""
        known = await asyncio.to_thread(processes.marked, made.mark)
        with suppress(NotFound):
            await tmux.panes.kill(made.pane)
        await processes.end(made.mark, known)

    async def close(self, tmux: Tmux) -> None:
        """Everything of ours goes, also if tmux does not answer: its processes we end ourselves."""
        if self._making:
            await asyncio.wait(self._making, timeout=_GOODBYE_S)
        if self._count == 0:
            return
        mark = f"{self.owner.token}."
        known = await asyncio.to_thread(processes.marked, mark)
        with suppress(MuxpilotError, TimeoutError):
            async with asyncio.timeout(_GOODBYE_S):
                if self._id is not None and await self._is_ours(tmux, self._id):
                    await tmux.sessions.kill(self._id)
        await processes.end(mark, known)

    async def _is_ours(self, tmux: Tmux, target: SessionId | PaneId) -> bool:
        noun = "session_id" if isinstance(target, SessionId) else "pane_id"
        ask = ("display-message", "-p", "-t", target, f"#{{{noun}}} #{{@muxpilot_debug}}")
        try:
            found = (await tmux.connection.run(ask, repeatable=True)).first_line
        except (NotFound, NoServer):
            return False
        return found.startswith(f"{target} ") and found.endswith(f" {self.owner.token}")


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None
