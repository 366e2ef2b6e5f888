"""What happens when a stream's source ends, or its pane may be gone, dead or in another session.

tmux does not say what became of a pane. So each hint (a closed pipe, a notification, a lost connection) leads
to a check: find the pane, then end its stream, connect it to another source, or leave it as it is.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from muxpilot.errors import ConnectionLost, MuxpilotError, NotAnswering, NotFound, Unreachable
from muxpilot.tasks import TaskSet
from muxpilot.tmux.connection.attached_client import DEAD_PANES_SUBSCRIPTION
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.connection.protocol import Notification, PaneOutput
from muxpilot.tmux.models import Pane
from muxpilot.tmux.objects.panes import Panes
from muxpilot.tmux.objects.recorded_exit import read_exit
from muxpilot.tmux.streams.far_feed import FarFeed
from muxpilot.tmux.streams.followed_panes import FollowedPane, FollowedPanes, PaneSource
from muxpilot.tmux.streams.sources import CLEANUP_S, PaneSources
from muxpilot.tmux.streams.stream import ExitStatus, PaneStream
from muxpilot.trace import Trace, describe_error

# A remote host that cannot be reached may come back: the pauses before each try.
_REMOTE_PAUSES_S = (0.0, 0.2, 0.5, 1.0, 2.0, 4.0, *(8.0,) * 12)

# The pipe of a dead pane counts as read to its end after a silence of this length.
_SILENCE_S = 0.05


class StreamRecovery:
    """Checks followed panes, and ends or reconnects their streams. `lock` is held while sources change."""

    def __init__(
        self,
        connection: Connection,
        panes: Panes,
        followed_panes: FollowedPanes,
        sources: PaneSources,
        *,
        lock: asyncio.Lock,
        tasks: TaskSet,
        trace: Trace,
    ) -> None:
        self._connection = connection
        self._panes = panes
        self._followed_panes = followed_panes
        self._sources = sources
        self._lock = lock
        self._tasks = tasks
        self._trace = trace

    def on_tmux_event(self, event: Notification | PaneOutput) -> None:
        """Check the panes that tmux reports as dead; check all of them when the connection was lost."""
        if not isinstance(event, Notification):
            return
        if event.name == "subscription-changed" and event.rest.startswith(f"{DEAD_PANES_SUBSCRIPTION} "):
            dead = set(event.rest.rpartition(" : ")[2].split())
            for followed in self._followed_panes:
                if followed.pane in dead:
                    self._check_soon(followed, "tmux lists the pane as dead")
        elif event.name == "closed":
            # The check connects again. Without a connection, the end of a pane would not be reported.
            for followed in self._followed_panes:
                self._check_soon(followed, "the connection was lost")

    def on_possible_move(self, stream: PaneStream, notification: str) -> None:
        """Check a pane after a notification of its session's control client."""
        for followed in self._followed_panes:
            if followed.stream is stream:
                self._check_soon(followed, notification)

    def on_pipe_end(self, followed: FollowedPane, pipe: PaneSource) -> None:
        followed.pipe = None
        self._tasks.start(self._handle_pipe_end(followed, pipe))

    async def ensure_source(self, followed: FollowedPane) -> None:
        """Connect a stream that has lost its source, or end it. Call it under the lock."""
        if followed.needs_source:
            await self._update(followed, await self._find_pane(followed))

    async def drop(self, followed: FollowedPane, *, ends_journal: bool = False) -> None:
        """Stop following a pane, and take its source away. Its journal goes on unless `ends_journal`."""
        self._followed_panes.remove(followed)
        await self._sources.disconnect(followed, ends_journal=ends_journal)

    async def finish_dead(self, followed: FollowedPane, pane: Pane) -> None:
        """End the stream of a pane whose program had ended before it was followed."""
        await self._finish(followed, pane, followed.pipe.exit_status if followed.pipe is not None else None)

    def _check_soon(self, followed: FollowedPane, why: str) -> None:
        if followed.stream.end_event is None and not followed.is_check_pending:
            followed.is_check_pending = True
            self._trace.debug("pane will be checked", pane=followed.pane, why=why)
            self._tasks.start(self._check(followed))

    async def _check(self, followed: FollowedPane) -> None:
        """Find a pane that may be gone, dead or elsewhere, and update its stream. Retry on remote hosts."""
        for pause_s in _REMOTE_PAUSES_S if self._connection.endpoint.is_remote else (0.0,):
            await asyncio.sleep(pause_s)
            async with self._lock:
                followed.is_check_pending = False
                if followed.stream.end_event is not None:
                    return
                try:
                    await self._update(followed, await self._find_pane(followed))
                    return
                except MuxpilotError as error:
                    failure = error
            self._trace.debug("pane check failed", pane=followed.pane, error=describe_error(failure))
            if not _may_be_temporary(failure):
                break
        if not followed.has_source:
            await self._give_up(followed, None, failure)

    async def _update(self, followed: FollowedPane, pane: Pane | None) -> None:
        """End a stream, connect it to another source, or leave it, as the state of its pane demands."""
        if followed.pipe is not None:
            if pane is not None and pane.is_dead:
                await self._read_to_end(followed, followed.pipe)
                await self._finish(followed, pane, followed.pipe.exit_status)
        elif pane is None or pane.is_dead:
            await self._finish(followed, pane, None)
        elif not await self._is_in_attached_session(followed, pane):
            await self._follow_to_other_session(followed)

    async def _follow_to_other_session(self, followed: FollowedPane) -> None:
        """Connect a stream again whose pane is no longer in the session of its client, and note the gap."""
        reason = "the pane moved, or the connection to its session was lost"
        if not self._connection.endpoint.is_remote:
            followed.stream.add_gap(reason)
            await self._connect_again_or_give_up(followed)
            return
        await self._connect_again(followed)
        if followed.feed is None or followed.feed.journal is None:  # else its journal has all
            followed.stream.add_gap(reason)

    async def _handle_pipe_end(self, followed: FollowedPane, pipe: PaneSource) -> None:
        """End the stream with its pipe, unless the pane lives on: then another program replaced the pipe."""
        exit = pipe.exit_status
        async with self._lock:
            try:
                pane = await self._find_pane(followed)
            except MuxpilotError as error:
                await self._give_up(followed, exit, error)
                return
            if pane is None or pane.is_dead or exit is not None:
                await self._finish(followed, pane, exit)
            elif pipe.is_replaced:
                await self.drop(followed)
                followed.stream.finish(None, "another program was started in the pane")
            elif followed.stream.end_event is None:
                followed.stream.add_gap("the pane's pipe was replaced, or has ended")
                await self._connect_again_or_give_up(followed)

    async def _read_to_end(self, followed: FollowedPane, pipe: PaneSource) -> None:
        """Wait until the pipe of a dead pane is silent. tmux keeps the pipe open if the pane remains."""
        end = -1
        while pipe.exit_status is None and end != followed.stream.end:
            end = followed.stream.end
            await asyncio.sleep(_SILENCE_S)

    async def _is_in_attached_session(self, followed: FollowedPane, pane: Pane) -> bool:
        """Return whether our control client's session shows the pane; its window may be in several."""
        if followed.control is None or not followed.control.is_connected:
            return False
        if followed.control.session == pane.session_id:
            return True
        try:
            return any(row.id == pane.id for row in await self._panes.list(followed.control.session))
        except NotFound:
            return False

    async def _connect_again_or_give_up(self, followed: FollowedPane) -> None:
        try:
            await self._connect_again(followed)
        except MuxpilotError as error:
            await self._give_up(followed, None, error)

    async def _connect_again(self, followed: FollowedPane) -> None:
        await self._sources.leave_control_client(followed)
        await self._sources.connect(followed)
        if not self._followed_panes.is_current(followed):
            # The last follower left while we connected; at that time no source could be disconnected.
            await self.drop(followed)

    async def _give_up(self, followed: FollowedPane, exit: ExitStatus | None, error: MuxpilotError) -> None:
        self._trace.debug("stream given up", pane=followed.pane, error=describe_error(error))
        await self.drop(followed)
        followed.stream.finish(exit, error.what.rstrip("."))

    async def _finish(self, followed: FollowedPane, pane: Pane | None, exit: ExitStatus | None) -> None:
        """End the stream of a pane that is dead, or gone (None)."""
        if followed.control is not None:
            with suppress(MuxpilotError):
                await followed.control.catch_up(CLEANUP_S)
        await self._sources.leave_control_client(followed)
        if followed.feed is not None:
            exit = exit or await self._read_far_end(followed.feed, is_gone=pane is None)
        learnt_from = "exit mark" if exit is not None else "tmux" if pane is not None else "nothing"
        if pane is None:
            await self.drop(followed)
            self._followed_panes.remember_ended(followed)
        elif exit is None:
            exit = ExitStatus(pane.exit_code, pane.dead_signal)
        self._trace.debug(
            "pane ended", pane=followed.pane, is_gone=pane is None, status_learnt_from=learnt_from
        )
        followed.stream.finish(exit, "the program has ended" if pane is not None else "the pane is gone")

    async def _read_far_end(self, feed: FarFeed, *, is_gone: bool) -> ExitStatus | None:
        """Read the last output of a pane on another host. Return the status of one that is gone."""
        try:
            await feed.read_rest()
        except MuxpilotError as error:
            feed.give_up(error.what.rstrip("."))
        return await read_exit(self._connection, feed.stream.pane) if is_gone else None

    async def _find_pane(self, followed: FollowedPane) -> Pane | None:
        """Return the pane, or None if it is gone. The same id on another server is another pane."""
        try:
            pane = await self._panes.get(followed.pane)
        except NotFound:
            return None
        return pane if followed.server_pid in (None, pane.server_pid) else None


def _may_be_temporary(error: MuxpilotError) -> bool:
    return isinstance(error, Unreachable | ConnectionLost | NotAnswering)
