"""People at their terminals: who uses a pane just now is not typed over."""

from __future__ import annotations

import time

from muxpilot.errors import NoServer
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.protocol import Notice, Output

_ASK = "#{pane_id} #{client_activity} #{client_created} #{client_control_mode}"


class People:
    """Those who look at one server. While nobody does, which tmux tells us, it is not asked."""

    def __init__(self, tmux: Tmux) -> None:
        self._tmux = tmux
        self._may_be_there = True
        tmux.connection.listen(self._told)

    def _told(self, event: Notice | Output) -> None:
        if isinstance(event, Notice) and event.name in ("client-session-changed", "closed"):
            self._may_be_there = True

    async def use(self, pane: PaneId, pause_s: float) -> bool:
        """Whether somebody who looks at this pane pressed a key, after they came, within the pause."""
        if not self._may_be_there:
            return False
        self._may_be_there = False  # unless somebody comes while we ask
        try:
            reply = await self._tmux.connection.run(("list-clients", "-F", _ASK), repeatable=True)
        except NoServer:
            self._may_be_there = True
            return False
        rows = [line.decode("ascii", "replace").split(" ") for line in reply.blocks[0].lines]
        people = [row for row in rows if row[-1] != "1"]
        if people or self._tmux.connection.server_pid is None:
            self._may_be_there = True
        now = time.time()
        return any(
            shown == pane and int(activity) > int(created) and now - int(activity) < pause_s
            for shown, activity, created, _ in people
        )
