"""A source of streams: the `%output` of one control client per session, attached while it is needed.

Attaching changes nothing that a person sees: the client's size is ignored and no environment is updated. A
session that tmux would destroy when its last client leaves is never attached to.
"""

from __future__ import annotations

from collections.abc import Callable

from muxpilot.errors import ConnectionLost, NoStream
from muxpilot.tasks import TaskSet
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.connection.control import ControlClient
from muxpilot.tmux.connection.failures import raise_on_error
from muxpilot.tmux.connection.protocol import Notification, PaneOutput
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId, SessionId
from muxpilot.tmux.streams.far_feed import FarFeed
from muxpilot.tmux.streams.stream import PaneStream
from muxpilot.trace import Trace

# When our client is this many seconds behind, tmux drops its backlog and sends %pause.
_PAUSE_AFTER_S = 30
_DETACH_LOCK_S = 0.5
_PING = ("display-message", "-p", "here")
_ASK_NAME = ("display-message", "-p", "#{client_name}")

# After one of these a pane may be gone, or be in another session.
_PANE_MAY_HAVE_MOVED = frozenset(
    {"window-close", "unlinked-window-close", "layout-change", "session-changed", "closed"}
)


class ControlOutputSource:
    """One control client that feeds the streams of all followed panes of a session.

    `on_possible_move` is called with each of these streams when its pane may be gone or in another session.
    `on_missed_output` is called with the feed of a pane on another host if tmux has dropped its output.
    """

    def __init__(
        self,
        connection: Connection,
        session: SessionId,
        on_possible_move: Callable[[PaneStream, str], None],
        trace: Trace,
        *,
        on_missed_output: Callable[[FarFeed, ControlOutputSource], None],
    ) -> None:
        self.session = session
        self._on_missed_output = on_missed_output
        self._connection = connection
        self._on_possible_move = on_possible_move
        self._trace = trace.child(session=session)
        self._streams: dict[PaneId, PaneStream] = {}
        self._feeds: dict[PaneId, FarFeed] = {}  # for panes on other hosts
        self._paused_by_us: set[str] = set()
        self._control: ControlClient | None = None
        self._client_name: str | None = None
        self._tasks = TaskSet(self._trace)

    @property
    def is_used(self) -> bool:
        return bool(self._streams)

    @property
    def is_connected(self) -> bool:
        return self._control is not None and not self._control.closed.is_set()

    def add(self, stream: PaneStream, feed: FarFeed | None = None) -> None:
        self._streams[stream.pane] = stream
        if feed is not None:
            self._feeds[stream.pane] = feed

    def remove(self, stream: PaneStream) -> None:
        self._streams.pop(stream.pane, None)
        self._feeds.pop(stream.pane, None)

    def is_fed(self, feed: FarFeed) -> bool:
        """Return whether output that comes now goes to this feed."""
        return self.is_connected and self._feeds.get(feed.stream.pane) is feed

    async def add_paused(self, feed: FarFeed, command: Command) -> list[tuple[bytes, ...]]:
        """Run a command, and give the feed exactly the output that tmux reads after it. Return its lines.

        Paused output is dropped by tmux. After the reply to the pause none of it is on its way.
        """
        pane = feed.stream.pane
        if self._control is None:
            raise ConnectionLost("The connection to tmux is closed.")
        resume = ("refresh-client", "-A", f"{pane}:continue")
        self._paused_by_us.add(pane)
        try:
            async with self._connection.deadline():
                await self._control.request(("refresh-client", "-A", f"{pane}:pause"))
                self.add(feed.stream, feed)
                return [
                    block.lines
                    for block in raise_on_error(await self._control.request(command, resume)).blocks
                ]
        finally:
            self._paused_by_us.discard(pane)

    async def start(self) -> None:
        """Attach to the session. Raise NoStream if tmux would destroy the session when we leave it."""
        await self._refuse_session_that_ends_unattached()
        flags = f"ignore-size,pause-after={_PAUSE_AFTER_S}"
        attach = ("attach-session", "-E", "-t", self.session, "-f", flags)
        endpoint = self._connection.endpoint
        try:
            with self._trace.step("stream client attached"):
                async with self._connection.deadline(), endpoint.attach_lock():
                    self._control = await ControlClient.start(endpoint, [attach], self._on_event)
                    await self._wait_until_attached(self._control)
        except BaseException:
            await self.close()
            raise

    async def catch_up(self, timeout_s: float | None = None) -> None:
        """Wait until all output that tmux has sent so far is in the streams."""
        if self._control is not None:
            async with self._connection.deadline(timeout_s):
                await self._control.request(_PING)

    async def close(self) -> None:
        """Detach the control client."""
        if self._control is not None:
            control, self._control = self._control, None
            self._trace.debug("stream client detaches")
            try:
                async with self._connection.endpoint.attach_lock(_DETACH_LOCK_S):
                    await control.close()
            finally:  # also when we are cancelled while we wait for the lock
                if self._client_name is not None:
                    self._connection.stream_clients.end(self._client_name)
                    self._client_name = None
                await control.close()

    async def _wait_until_attached(self, control: ControlClient) -> None:
        has_heartbeat = self._connection.endpoint.heartbeat is not None
        try:
            reply = await control.request(_ASK_NAME if has_heartbeat else _PING)
        except ConnectionLost:
            raise self._connection.endpoint.attach_error(await control.read_error_text()) from None
        if has_heartbeat:
            self._client_name = reply.first_line
            self._connection.stream_clients.add(self._client_name)

    async def _refuse_session_that_ends_unattached(self) -> None:
        ask = ("display-message", "-p", "-t", self.session, "#{session_id} #{destroy-unattached}")
        answer = (await self._connection.run(ask, repeatable=True)).first_line.split(" ")
        if answer[0] != self.session or answer[-1] not in ("0", "off", ""):
            raise NoStream(
                f"Session {self.session!r} ends when its last client leaves, so it cannot be followed.",
                "Turn destroy-unattached off for it, or use a session of its own.",
            )

    def _on_event(self, event: Notification | PaneOutput) -> None:
        if isinstance(event, PaneOutput):
            self._feed(PaneId(event.pane), event.data)
        elif event.name == "pause":
            self._handle_pause(event.rest)
        elif event.name == "session-changed" and not event.rest.startswith(f"{self.session} "):
            # Our session has ended and tmux moved our client to another one, which we must not follow.
            self._tasks.start(self.close())
        elif event.name in _PANE_MAY_HAVE_MOVED:
            for stream in list(self._streams.values()):
                self._on_possible_move(stream, event.name)

    def _feed(self, pane: PaneId, data: bytes) -> None:
        feed, stream = self._feeds.get(pane), self._streams.get(pane)
        if feed is not None:
            feed.receive(data)
        elif stream is not None:
            stream.feed(data)

    def _handle_pause(self, pane: str) -> None:
        """Note that tmux dropped output of a pane, and ask it to continue."""
        if pane in self._paused_by_us:
            return
        stream, feed = self._streams.get(PaneId(pane)), self._feeds.get(PaneId(pane))
        if feed is not None and feed.journal is not None:
            feed.fall_behind()
        elif stream is not None:
            stream.add_gap("tmux dropped output that was not read in time")
        if self._control is not None:
            self._tasks.start(self._continue_pane(self._control, pane))

    async def _continue_pane(self, control: ControlClient, pane: str) -> None:
        try:
            await control.request(("refresh-client", "-A", f"{pane}:continue"))
        except ConnectionLost:
            return  # the event `closed` makes each stream look for a new source
        feed = self._feeds.get(PaneId(pane))
        if feed is not None and not feed.is_live:
            self._on_missed_output(feed, self)
