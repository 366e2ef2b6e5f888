"""A control client and the hub that it is attached to: they come together, and go together."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

from muxpilot.errors import ConnectionLost, MuxpilotError
from muxpilot.tmux import version
from muxpilot.tmux.connection import oneshot, reply_safety
from muxpilot.tmux.connection.control import ControlClient, Listener
from muxpilot.tmux.connection.failures import checked
from muxpilot.tmux.connection.hub_session import Hub, is_fleeting, session_behind, use_again, visiting
from muxpilot.tmux.hosts.endpoint import Endpoint
from muxpilot.tmux.ids import SessionId

# tmux tells nobody when a pane dies that stays on the screen, nor when a window of another session is split;
# subscriptions do, within a second. They belong to the hub's pane and end with it: one to the whole client
# outlives its session, and then crashes tmux (3.3a, 3.5a) at the next change.
DEATHS, PANES = "muxpilot-dead", "muxpilot-panes"
_SUBSCRIPTIONS = (
    (DEATHS, "#{S:#{W:#{P:#{?pane_dead,#{pane_id} ,}}}}"),
    (PANES, "#{S:#{W:#{P:#{pane_id} }}}"),
)

_GOODBYE_S = 0.5
_LOOK_AGAIN_S = 0.02


@dataclass(slots=True)
class Lifeline:
    endpoint: Endpoint
    control: ControlClient
    hub: Hub
    hub_ids: frozenset[str] = frozenset()
    server_pid: int = 0
    version: version.Version = version.OLDEST
    version_text: str = ""
    _used: set[SessionId] = field(default_factory=set)  # since the hub was made

    @classmethod
    async def to(cls, endpoint: Endpoint, hub: Hub, listener: Listener, begun: float) -> Lifeline:
        """Attach to a server that is there, and learn what is needed of it."""
        try:
            control = await ControlClient.start(endpoint, hub.commands(), listener, begun)
        except BaseException:
            hub.close()
            raise
        line = cls(endpoint, control, hub)
        try:
            await line._settle_in()
        except BaseException:
            await line.let_go()
            raise
        return line

    async def step_back(self, *, is_coming: bool = False) -> None:
        """Make sure that a bare command of a person, such as `tmux new-window`, does not meet the hub.

        A session where nobody is gets a visit, only while it is our turn to come: see `Endpoint.turn`.
        """
        session = await session_behind(self.control, self._used)
        if session is None:
            return
        if await use_again(self.control, session):
            self._used.add(session)
        elif is_coming and not self.endpoint.is_far and not await is_fleeting(self.control, session):
            self._used.add(session)
            with suppress(MuxpilotError):  # it, or tmux, has just gone
                visitor = await ControlClient.start(self.endpoint, [visiting(session)], lambda event: None)
                await visitor.close()

    async def let_go(self) -> None:
        """End the hub and see it off: what tmux has to tell of that must not meet the next to connect.

        Its program ends it, and never `kill-session`: 3.3a crashes when a control client kills its own.
        """
        self.hub.leave(self.control)
        try:
            async with asyncio.timeout(_GOODBYE_S):
                if self.control.closed.is_set() and self.hub_ids and not self.endpoint.is_far:
                    await self._see_hub_off()
                await self.control.closed.wait()
        except (TimeoutError, MuxpilotError):
            pass
        finally:
            await self.control.close()

    async def close(self) -> None:
        """The same at once, whatever tmux has to tell."""
        self.hub.close()
        await self.control.close()

    async def _settle_in(self) -> None:
        try:
            reply = await self.control.request(
                ("display-message", "-p", "#{pid} #{session_id} #{window_id} #{pane_id} #{version}")
            )
        except ConnectionLost:
            raise self.endpoint.failure(await self.control.last_words()) from None
        pid, *ids, words = checked(reply).first_line.split(" ", 4)
        subscribe = [("refresh-client", "-B", f"{name}:{ids[-1]}:{text}") for name, text in _SUBSCRIPTIONS]
        self.server_pid, self.hub_ids = int(pid), frozenset(ids)
        self.version, self.version_text = version.require(words), words
        # The options once more: a person's hook on new sessions comes after what was set with the hub.
        await self.control.request(*subscribe, *self.hub.options())
        aliases = await self.control.request(("show-options", "-s", "-v", "command-alias"))
        self.control.is_trusting = reply_safety.is_everything_itself(
            line.decode("utf-8", "replace") for line in aliases.blocks[0].lines
        )
        await self.step_back(is_coming=True)

    async def _see_hub_off(self) -> None:
        """Our client ended before the hub did: now nobody tells us when it is gone."""
        ask = ("has-session", "-t", f"={self.hub.name}")
        while (await oneshot.run(self.endpoint, (ask,))).error is None:  # noqa: ASYNC110 - see above
            await asyncio.sleep(_LOOK_AGAIN_S)
