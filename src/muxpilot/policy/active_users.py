"""People at their terminals: who uses a pane just now is not typed over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple

from muxpilot.errors import NoServer
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.connection.protocol import Notice, Output

_FORMAT = "#{pane_id} #{client_activity} #{client_created} #{client_control_mode}"


class _Client(NamedTuple):
    pane: str
    activity: int
    created: int


class People:
    """Those who look at one server. While nobody does, which tmux tells us, it is not asked."""

    def __init__(self, tmux: Tmux) -> None:
        self._tmux = tmux
        self._may_be_there = True
        self._asking: asyncio.Task[list[_Client]] | None = None
        tmux.connection.listen(self._told)

    def _told(self, event: Notice | Output) -> None:
        if isinstance(event, Notice) and event.name in ("client-session-changed", "closed"):
            self._may_be_there = True

    async def use(self, pane: PaneId, pause_s: float) -> bool:
        """Whether somebody who looks at this pane pressed a key, after they came, within the pause."""
        now = time.time()
        return any(
            client.pane == pane and client.activity > client.created and now - client.activity < pause_s
            for client in await self._there()
        )

    async def _there(self) -> Sequence[_Client]:
        """Those who call while tmux is being asked wait for its answer too."""
        if self._asking is None:
            if not self._may_be_there:
                return ()
            self._asking = asyncio.create_task(self._ask())
            self._asking.add_done_callback(self._answered)
        return await asyncio.shield(self._asking)

    def _answered(self, asking: asyncio.Task[list[_Client]]) -> None:
        self._asking = None
        if not asking.cancelled():
            asking.exception()  # whoever waits has it; nobody may wait any more

    async def _ask(self) -> list[_Client]:
        self._may_be_there = False  # unless somebody comes while we ask
        try:
            reply = await self._tmux.connection.run(("list-clients", "-F", _FORMAT), repeatable=True)
        except BaseException as error:
            self._may_be_there = True
            if isinstance(error, NoServer):
                return []
            raise
        rows = [line.decode("ascii", "replace").split(" ") for line in reply.blocks[0].lines]
        people = [_Client(pane, int(used), int(made)) for pane, used, made, is_ours in rows if is_ours != "1"]
        if people or self._tmux.connection.server_pid is None:
            self._may_be_there = True
        return people
