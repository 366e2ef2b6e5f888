"""A control client with the hub session that it is attached to: both begin and end together."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import field

from muxpilot.errors import ConnectionLost, MuxpilotError
from muxpilot.records import mutable_record
from muxpilot.tmux import version
from muxpilot.tmux.connection import oneshot, reply_safety
from muxpilot.tmux.connection.control import ControlClient, Listener
from muxpilot.tmux.connection.failures import raise_on_error
from muxpilot.tmux.connection.heartbeat import Heartbeat
from muxpilot.tmux.connection.hub_session import (
    HubSession,
    attach_command,
    default_session_without_hub,
    is_destroyed_when_unattached,
    touch_session,
)
from muxpilot.tmux.hosts.endpoint import Endpoint
from muxpilot.tmux.ids import SessionId

# tmux sends no notification when a pane with remain-on-exit dies, nor when a window of another session is
# split; subscriptions report both within a second. They belong to the hub's pane and end with it: a
# subscription of the whole client outlives its session, and crashes tmux (3.3a, 3.5a) at the next change.
DEAD_PANES_SUBSCRIPTION, PANES_SUBSCRIPTION = "muxpilot-dead", "muxpilot-panes"
_SUBSCRIPTIONS = (
    (DEAD_PANES_SUBSCRIPTION, "#{S:#{W:#{P:#{?pane_dead,#{pane_id} ,}}}}"),
    (PANES_SUBSCRIPTION, "#{S:#{W:#{P:#{pane_id} }}}"),
)

_DETACH_TIMEOUT_S = 0.5
_HUB_POLL_S = 0.02


@mutable_record
class AttachedClient:
    """The live connection to a tmux server: its client, its hub, and what is known of the server."""

    endpoint: Endpoint
    control: ControlClient
    hub: HubSession
    heartbeat: Heartbeat | None = None
    hub_ids: frozenset[str] = frozenset()
    server_pid: int = 0
    server_started: int = 0
    version: version.Version = version.OLDEST
    version_text: str = ""
    _used_sessions: set[SessionId] = field(default_factory=set)  # since the hub was created

    @classmethod
    async def attach(
        cls, endpoint: Endpoint, hub: HubSession, listener: Listener, started_at: float
    ) -> AttachedClient:
        """Create the hub on a running server, attach to it, and read what we need to know of the server."""
        try:
            control = await ControlClient.start(endpoint, hub.create_commands(), listener, started_at)
        except BaseException:
            hub.close()
            raise
        client = cls(endpoint, control, hub)
        try:
            await client._prepare()
        except BaseException:
            await client.detach()
            raise
        if endpoint.heartbeat is not None:
            client.heartbeat = Heartbeat(control, hub.name, endpoint.heartbeat)
        endpoint.trace.debug("hub session created", hub=hub.name, ids=" ".join(sorted(client.hub_ids)))
        return client

    async def restore_default_session(self, *, may_attach: bool = False) -> None:
        """Make a session of the person tmux's default target again, such as for a bare `tmux new-window`.

        A session without a client becomes the default when a client attaches to it briefly. Pass
        `may_attach` only while `Endpoint.attach_lock` is held.
        """
        session = await default_session_without_hub(self.control, self._used_sessions)
        if session is None:
            return
        if await touch_session(self.control, session):
            self._used_sessions.add(session)
        elif may_attach and await self._may_attach_to(session):
            self._used_sessions.add(session)
            with suppress(MuxpilotError):  # the session, or tmux, may just have ended
                visitor = await ControlClient.start(
                    self.endpoint, [attach_command(session)], lambda event: None
                )
                await visitor.close()
        self.endpoint.trace.debug(
            "default session restored", session=session, done=session in self._used_sessions
        )

    async def _may_attach_to(self, session: SessionId) -> bool:
        return not self.endpoint.is_remote and not await is_destroyed_when_unattached(self.control, session)

    async def detach(self) -> None:
        """End the hub and wait for its end: tmux's notifications of it must not meet the next client.

        The hub's own program ends it, never `kill-session`: tmux 3.3a crashes when a control client kills
        its own session.
        """
        self._stop_heartbeat()
        self.hub.end_session(self.control)
        try:
            async with asyncio.timeout(_DETACH_TIMEOUT_S):
                if self.control.closed.is_set() and self.hub_ids and not self.endpoint.is_remote:
                    await self._wait_until_hub_is_gone()
                await self.control.closed.wait()
            self.endpoint.trace.debug("hub session ended", hub=self.hub.name)
        except (TimeoutError, MuxpilotError):
            self.endpoint.trace.info("hub session did not end in time", hub=self.hub.name)
        finally:
            await self.control.close()

    async def close(self) -> None:
        """End the hub and the client without waiting for tmux."""
        self._stop_heartbeat()
        self.hub.close()
        await self.control.close()

    def _stop_heartbeat(self) -> None:
        if self.heartbeat is not None:
            self.heartbeat.stop()

    async def _prepare(self) -> None:
        try:
            reply = await self.control.request(
                (
                    "display-message",
                    "-p",
                    "#{pid} #{start_time} #{session_id} #{window_id} #{pane_id} #{version}",
                )
            )
        except ConnectionLost:
            raise self.endpoint.attach_error(await self.control.read_error_text()) from None
        pid, started, *ids, version_text = raise_on_error(reply).first_line.split(" ", 5)
        subscribe = [("refresh-client", "-B", f"{name}:{ids[-1]}:{text}") for name, text in _SUBSCRIPTIONS]
        self.server_pid, self.server_started, self.hub_ids = int(pid), int(started), frozenset(ids)
        self.version, self.version_text = version.require_supported(version_text), version_text
        # The options once more: a hook of the person on new sessions runs after those set with the hub.
        await self.control.request(*subscribe, *self.hub.option_commands())
        condition = self.control.request(reply_safety.CONDITION_CHECK)
        aliases = await self.control.request(("show-options", "-s", "-v", "command-alias"))
        self.control.may_skip_guard = reply_safety.has_no_shadowing_alias(
            line.decode("utf-8", "replace") for line in aliases.blocks[0].lines
        )
        self.control.counts_conditions = reply_safety.is_answered_by_each(await condition)
        await self.restore_default_session(may_attach=True)

    async def _wait_until_hub_is_gone(self) -> None:
        """Ask tmux until the hub has ended: our client ended first, so no notification reports it."""
        ask = ("has-session", "-t", f"={self.hub.name}")
        while (await oneshot.run(self.endpoint, (ask,))).error is None:  # noqa: ASYNC110 - see above
            await asyncio.sleep(_HUB_POLL_S)
