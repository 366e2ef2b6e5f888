"""The people at attached terminals, so that we do not type into a pane while a person types there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple

from muxpilot.errors import NoServer
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.connection.protocol import Notification, PaneOutput

_FORMAT = "#{pane_id} #{client_activity} #{client_created} #{client_control_mode}"


class _AttachedTerminal(NamedTuple):
    """A person's client: the pane that it shows, and when it was last used and created."""

    pane: str
    activity: int
    created: int


class ActiveUsers:
    """The people attached to one server. tmux is not asked while it reports that no client attaches."""

    def __init__(self, tmux: Tmux) -> None:
        self._tmux = tmux
        self._may_have_terminals = True
        self._question: asyncio.Task[list[_AttachedTerminal]] | None = None
        tmux.connection.add_listener(self._note_arrival)

    def _note_arrival(self, event: Notification | PaneOutput) -> None:
        if isinstance(event, Notification) and event.name in ("client-session-changed", "closed"):
            self._may_have_terminals = True

    async def is_typing(self, pane: PaneId, pause_s: float) -> bool:
        """Return whether a person who looks at this pane has pressed a key within the pause.

        Attaching counts as activity to tmux, so activity must be later than the client's creation.
        """
        now = time.time()
        return any(
            client.pane == pane and client.activity > client.created and now - client.activity < pause_s
            for client in await self._list_terminals()
        )

    async def _list_terminals(self) -> Sequence[_AttachedTerminal]:
        """Return the attached terminals. Concurrent callers share one request to tmux."""
        if self._question is None:
            if not self._may_have_terminals:
                return ()
            self._question = asyncio.create_task(self._ask())
            self._question.add_done_callback(self._forget_question)
        return await asyncio.shield(self._question)

    def _forget_question(self, asking: asyncio.Task[list[_AttachedTerminal]]) -> None:
        self._question = None
        if not asking.cancelled():
            asking.exception()  # mark it as retrieved: all callers may have stopped waiting

    async def _ask(self) -> list[_AttachedTerminal]:
        self._may_have_terminals = False  # a client that attaches while we ask sets it again
        try:
            reply = await self._tmux.connection.run(("list-clients", "-F", _FORMAT), repeatable=True)
        except BaseException as error:
            self._may_have_terminals = True
            if isinstance(error, NoServer):
                return []
            raise
        rows = [line.decode("ascii", "replace").split(" ") for line in reply.blocks[0].lines]
        terminals = [
            _AttachedTerminal(pane, int(used), int(made))
            for pane, used, made, is_ours in rows
            if is_ours != "1"
        ]
        if terminals or self._tmux.connection.server_pid is None:
            self._may_have_terminals = True
        return terminals
