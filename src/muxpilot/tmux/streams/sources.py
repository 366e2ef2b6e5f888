"""Which source a followed pane gets: a pipe, or the control client of its session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from muxpilot.errors import MuxpilotError, NoStream
from muxpilot.tasks import TaskSet
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId, SessionId
from muxpilot.tmux.objects.launch import Launch
from muxpilot.tmux.objects.panes import Panes
from muxpilot.tmux.streams.control_output import ControlOutputSource
from muxpilot.tmux.streams.followed_panes import FollowedPane
from muxpilot.tmux.streams.pipe import PipeSource
from muxpilot.tmux.streams.stream import PaneStream
from muxpilot.trace import Trace

# Commands that only clean up in tmux are not waited for longer than this.
CLEANUP_S = 0.5


class PaneSources:
    """Connects followed panes to their sources, and disconnects them. A session has one control client.

    `on_pipe_end` is called when tmux closes a pipe; `on_possible_move` when a pane may be gone or in another
    session.
    """

    def __init__(
        self,
        connection: Connection,
        panes: Panes,
        *,
        tasks: TaskSet,
        trace: Trace,
        on_pipe_end: Callable[[FollowedPane, PipeSource], None],
        on_possible_move: Callable[[PaneStream, str], None],
    ) -> None:
        self._connection = connection
        self._panes = panes
        self._tasks = tasks
        self._trace = trace
        self._on_pipe_end = on_pipe_end
        self._on_possible_move = on_possible_move
        self._control_clients: dict[SessionId, ControlOutputSource] = {}

    async def connect(self, followed: FollowedPane) -> None:
        """Attach to the pane's session. If that is not possible, use a pipe, if the pane has none yet."""
        try:
            await self.attach(followed)
        except NoStream:
            if self._connection.endpoint.is_remote or not await self.start_pipe(followed):
                raise

    async def start_pipe(
        self, followed: FollowedPane, launch: Launch | None = None, first: Sequence[Command] = ()
    ) -> bool:
        """Run the commands `first` and start a pipe, on one line. Return False if the pane has a pipe."""
        source = PipeSource(
            self._connection.temporary_folder,
            followed.stream,
            lambda ended: self._on_pipe_end(followed, ended),
            launch,
            trace=self._trace,
        )
        try:
            reply = await self._connection.run(*first, source.pipe_command())
        except BaseException:
            source.close()
            self._tasks.start(self._stop_pipe(followed.pane))  # tmux may have started it all the same
            raise
        if source.was_refused([block.lines for block in reply.blocks]):
            self._trace.debug("pane has another pipe", pane=followed.pane)
            source.stop_reading()
            return False
        followed.pipe, followed.server_pid = source, self._connection.server_pid
        self._trace.debug("stream opened", pane=followed.pane, source="pipe", at=followed.stream.end)
        return True

    async def attach(self, followed: FollowedPane) -> None:
        """Follow a pane through the control client of its session. Call it under the streams' lock."""
        pane = await self._panes.get(followed.pane)
        control = self._control_clients.get(pane.session_id)
        if control is None or not control.is_connected:
            control = ControlOutputSource(
                self._connection, pane.session_id, self._on_possible_move, self._trace
            )
            await control.start()
            self._control_clients[pane.session_id] = control
        control.add(followed.stream)
        followed.control, followed.server_pid = control, pane.server_pid
        self._trace.debug(
            "stream opened", pane=followed.pane, source="control client", session=pane.session_id
        )

    async def disconnect(self, followed: FollowedPane) -> None:
        """Take a followed pane's source away, whichever it is."""
        pipe = followed.pipe
        if pipe is not None:
            followed.pipe = None
            pipe.close()
            await self._stop_pipe(followed.pane)
        await self.leave_control_client(followed)

    async def leave_control_client(self, followed: FollowedPane) -> None:
        """Stop using the control client of the pane's session; detach it if no other stream uses it."""
        control, followed.control = followed.control, None
        if control is None:
            return
        control.remove(followed.stream)
        if not control.is_used:
            if self._control_clients.get(control.session) is control:
                del self._control_clients[control.session]
            await control.close()

    async def _stop_pipe(self, pane: PaneId) -> None:
        """Remove our pipe from a pane that lives on; its `cat` would stay until the next output."""
        with suppress(MuxpilotError):  # the pane, or tmux, is gone
            await self._connection.run(("pipe-pane", "-t", pane), timeout_s=CLEANUP_S)
