"""The stream of everybody else's panes: `%output` of one control client per session, opened when used.

Attaching changes nothing that a person sees: sizes are ignored, no environment is updated. It is never
done to a session that tmux would destroy when its last client leaves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from muxpilot.errors import ConnectionLost, NoStream
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.connection.control import ControlClient
from muxpilot.tmux.connection.protocol import Notice, Output
from muxpilot.tmux.ids import PaneId, SessionId
from muxpilot.tmux.streams.stream import PaneStream

# What a client that does not keep up is behind, in seconds, when tmux drops its backlog and says so.
_PAUSE_AFTER_S = 30
_GOODBYE_S = 0.5
_ARE_YOU_THERE = ("display-message", "-p", "here")

# After these a pane may have gone, or moved to another session.
_MOVES = frozenset({"window-close", "unlinked-window-close", "layout-change", "session-changed", "closed"})


class OutputSource:
    """All panes of one session that somebody follows; `unsettled` is called when one may have gone."""

    def __init__(
        self, connection: Connection, session: SessionId, unsettled: Callable[[PaneStream], None]
    ) -> None:
        self.session = session
        self._connection = connection
        self._unsettled = unsettled
        self._streams: dict[PaneId, PaneStream] = {}
        self._control: ControlClient | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_used(self) -> bool:
        return bool(self._streams)

    @property
    def is_connected(self) -> bool:
        return self._control is not None and not self._control.closed.is_set()

    def add(self, stream: PaneStream) -> None:
        self._streams[stream.pane] = stream

    def remove(self, stream: PaneStream) -> None:
        self._streams.pop(stream.pane, None)

    async def start(self) -> None:
        await self._refuse_fleeting_session()
        flags = f"ignore-size,pause-after={_PAUSE_AFTER_S}"
        attach = ("attach-session", "-E", "-t", self.session, "-f", flags)
        try:
            async with self._connection.deadline(), self._connection.endpoint.turn():
                self._control = await ControlClient.start(self._connection.endpoint, [attach], self._told)
                await self._settle_in(self._control)
        except BaseException:
            await self.close()
            raise

    async def catch_up(self, timeout_s: float | None = None) -> None:
        """What tmux sent before its answer to this has been fed when the answer is here."""
        if self._control is not None:
            async with self._connection.deadline(timeout_s):
                await self._control.request(_ARE_YOU_THERE)

    async def close(self) -> None:
        if self._control is not None:
            control, self._control = self._control, None
            try:
                async with self._connection.endpoint.turn(_GOODBYE_S):
                    await control.close()
            finally:  # also when we are cancelled while we wait for our turn
                await control.close()

    async def _settle_in(self, control: ControlClient) -> None:
        try:
            await control.request(_ARE_YOU_THERE)
        except ConnectionLost:
            raise self._connection.endpoint.failure(await control.last_words()) from None

    async def _refuse_fleeting_session(self) -> None:
        ask = ("display-message", "-p", "-t", self.session, "#{session_id} #{destroy-unattached}")
        answer = (await self._connection.run(ask, repeatable=True)).first_line.split(" ")
        if answer[0] != self.session or answer[-1] not in ("0", "off", ""):
            raise NoStream(
                f"Session {self.session!r} ends when its last client leaves, so it cannot be followed.",
                "Turn destroy-unattached off for it, or use a session of its own.",
            )

    def _told(self, event: Notice | Output) -> None:
        if isinstance(event, Output):
            stream = self._streams.get(PaneId(event.pane))
            if stream is not None:
                stream.feed(event.data)
        elif event.name == "pause":
            self._go_on(event.rest)
        elif event.name == "session-changed" and not event.rest.startswith(f"{self.session} "):
            # Ours has ended and tmux moved us to another, which is not ours to follow.
            self._spawn(self.close())
        elif event.name in _MOVES:
            for stream in list(self._streams.values()):
                self._unsettled(stream)

    def _go_on(self, pane: str) -> None:
        stream = self._streams.get(PaneId(pane))
        if stream is not None:
            stream.gap("tmux dropped output that was not read in time")
        if self._control is not None:
            self._spawn(self._resume(self._control, pane))

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _resume(self, control: ControlClient, pane: str) -> None:
        try:
            await control.request(("refresh-client", "-A", f"{pane}:continue"))
        except ConnectionLost:
            return  # `closed` was told, and tells the followers
