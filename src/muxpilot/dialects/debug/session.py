"""The one session of a debug server: made with its first pane, gone with the server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from muxpilot.dialects.debug.leftovers import OPTION, abandoned, ends_with_us, session_name
from muxpilot.errors import MuxpilotError, NoServer, NotFound, Refused
from muxpilot.processes import process_tree
from muxpilot.processes.identity import Process
from muxpilot.records import record
from muxpilot.tmux import ListedPane, PaneId, Program, SessionId, Tmux
from muxpilot.tmux.objects.owner import ours

WIDTH, HEIGHT = 200, 50

_MOST_NAMES = 100
_GOODBYE_S = 0.8


@record
class Made:
    """A pane of ours; `mark` is in the environment of all that it started."""

    pane: PaneId
    mark: str


class DebugSession:
    """`forget` is called when it is made anew: what was in the one before is gone, and ids are used again."""

    def __init__(self, forget: Callable[[], None]) -> None:
        self._forget = forget
        self._id: SessionId | None = None
        self._lock = asyncio.Lock()
        self._making: set[asyncio.Task[None]] = set()
        self._count = 0

    async def reap(self, tmux: Tmux) -> None:
        """End what muxpilots that were killed have left."""
        with suppress(MuxpilotError):  # a tmux that cannot be asked is told to whoever calls a tool
            for session, owner in await abandoned(tmux):
                known = await asyncio.to_thread(process_tree.marked, f"{owner.token}.")
                with suppress(NotFound, NoServer):
                    await tmux.sessions.kill(session)
                await asyncio.to_thread(process_tree.end, f"{owner.token}.", known)

    async def make(self, tmux: Tmux, command: str, title: str, know: Callable[[Made], None]) -> None:
        """A window that runs a command. It is made whole and known, even if the caller does not wait."""

        async def make() -> None:
            know(await self._make(tmux, command, title))

        task = asyncio.create_task(make())
        self._making.add(task)
        task.add_done_callback(self._making.discard)
        await asyncio.shield(task)

    async def _make(self, tmux: Tmux, command: str, title: str) -> Made:
        async with self._lock:
            self._count += 1
            mark = f"{ours().token}.{self._count}."
            folder = None if tmux.is_far else _folder()
            program = Program(command, folder, {process_tree.VARIABLE: mark}, remain_on_exit=True)
            if self._id is not None and await self._is_ours(tmux, self._id):
                return Made((await tmux.windows.create(self._id, name=title, program=program)).pane_id, mark)
            return Made(await self._begin(tmux, title, program), mark)

    async def _begin(self, tmux: Tmux, title: str, program: Program) -> PaneId:
        base = session_name(ours())
        for name in (base, *(f"{base}-{number}" for number in range(2, _MOST_NAMES))):
            made = await tmux.sessions.create(
                name, window_name=title, width=WIDTH, height=HEIGHT, program=program
            )
            if made.created:
                break
        else:
            raise Refused(f"Every name like {base!r} is taken by another session.", "End some of them.")
        # `-e` set the variable for later windows too, those of a person included.
        unset = ("set-environment", "-t", made.session_id, "-u", process_tree.VARIABLE)
        await tmux.connection.run(ends_with_us(made.session_id), unset)
        self._id = made.session_id
        self._forget()
        return made.pane_id

    async def has(self, tmux: Tmux, pane: PaneId) -> bool:
        """Whether a pane is still there, and still ours: another tmux server uses the same ids."""
        return await self._is_ours(tmux, pane)

    async def panes(self, tmux: Tmux) -> Sequence[ListedPane]:
        if self._id is None or not await self._is_ours(tmux, self._id):
            return []
        return await tmux.panes.list(self._id)

    async def kill(self, tmux: Tmux, made: Made) -> None:
        """A pane and all that it started, whatever that ignores."""
        known = await asyncio.to_thread(process_tree.marked, made.mark)
        with suppress(NotFound, NoServer):
            await tmux.panes.kill(made.pane)
        await asyncio.to_thread(process_tree.end, made.mark, known)

    async def close(self, tmux: Tmux) -> None:
        """Everything of ours goes, also if tmux does not answer: its processes we end ourselves."""
        if self._count == 0 and not self._making:
            return
        mark = f"{ours().token}."
        known: set[Process] = set()
        try:
            if self._making:
                await asyncio.wait(self._making, timeout=_GOODBYE_S)
            known = process_tree.marked(mark)
            with suppress(MuxpilotError, TimeoutError):
                async with asyncio.timeout(_GOODBYE_S):
                    if self._id is not None and await self._is_ours(tmux, self._id):
                        await tmux.sessions.kill(self._id)
        finally:  # nobody is served any more: it may block
            process_tree.end(mark, known)

    async def _is_ours(self, tmux: Tmux, target: SessionId | PaneId) -> bool:
        noun = "session_id" if isinstance(target, SessionId) else "pane_id"
        ask = ("display-message", "-p", "-t", target, f"#{{{noun}}} #{{{OPTION}}}")
        try:
            found = (await tmux.connection.run(ask, repeatable=True)).first_line
        except (NotFound, NoServer):
            return False
        return found.startswith(f"{target} ") and found.endswith(f" {ours().token}")


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None
