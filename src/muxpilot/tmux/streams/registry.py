"""Which stream belongs to which pane, and where each gets its bytes from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from muxpilot.errors import (
    ConnectionLost,
    MuxpilotError,
    NoStream,
    NotAnswering,
    NotFound,
    Unreachable,
)
from muxpilot.tmux.connection.attached_client import DEATHS
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.connection.protocol import Notice, Output
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId, SessionId
from muxpilot.tmux.models import Pane
from muxpilot.tmux.objects.launch import Launch
from muxpilot.tmux.objects.panes import Panes
from muxpilot.tmux.streams.output import OutputSource
from muxpilot.tmux.streams.pipe import PipeSource
from muxpilot.tmux.streams.stream import Exit, PaneStream

# What is asked of tmux only to leave it tidy is not waited for longer than this.
_TIDY_S = 0.5
_LAST_ENDED = 32

# A host that is gone may come back: how long it is waited for, try after try.
_FAR_PAUSES_S = (0.0, 0.2, 0.5, 1.0, 2.0, 4.0, *(8.0,) * 12)

# How long nothing may come from a dead pane's pipe until that was all.
_SILENCE_S = 0.05


@dataclass(slots=True, eq=False)
class _Feed:
    """A stream, who reads it, and the one source that it has: a pipe, or its session's output."""

    stream: PaneStream
    followers: int = 0
    is_ours: bool = False
    pipe: PipeSource | None = None
    home: OutputSource | None = None
    server_pid: int | None = None  # ids begin anew with every server
    is_doubted: bool = False

    @property
    def is_alive(self) -> bool:
        return self.pipe is not None or (self.home is not None and self.home.is_connected)

    @property
    def is_unheard(self) -> bool:
        return not self.is_alive and self.stream.ended is None


class Streams:
    """Panes that we made are piped from their birth to their end; others while somebody follows them."""

    def __init__(self, connection: Connection, panes: Panes) -> None:
        self._connection = connection
        self._panes = panes
        self._feeds: dict[PaneId, _Feed] = {}
        self._ended: dict[PaneId, PaneStream] = {}
        self._outputs: dict[SessionId, OutputSource] = {}
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        connection.listen(self._told)

    async def adopt(self, pane: PaneId, launch: Launch, settle: Sequence[Command] = ()) -> PaneStream:
        """Take up a pane that was just made, and let its program start; first of all, `settle` is done."""
        feed = _Feed(PaneStream(pane), followers=1, is_ours=True)  # one is ourselves; we never leave
        try:
            if not await self._pipe(feed, launch, settle):
                await self._attach_or_say_why(feed)
        finally:
            if feed.pipe is not None:
                launch.open_gate()
            else:
                launch.let_go()
        self._feeds[pane] = feed
        self._ended.pop(pane, None)
        return feed.stream

    @asynccontextmanager
    async def open(self, pane: PaneId) -> AsyncIterator[PaneStream]:
        """Follow a pane; the same stream for everybody who follows it at the same time."""
        async with self._connection.deadline(), self._opening:
            feed = await self._current(pane) or await self._begin(pane)
            feed.followers += 1
        try:
            yield feed.stream
        finally:
            feed.followers -= 1
            if not feed.followers:
                await self._drop(feed)

    def of(self, pane: PaneId) -> PaneStream | None:
        """The stream of a pane that is being followed, or that we made and that has ended lately."""
        feed = self._feeds.get(pane)
        return feed.stream if feed is not None else self._ended.get(pane)

    def is_ours(self, pane: PaneId) -> bool:
        """Whether we made the pane, so that its stream has everything from the first byte on."""
        feed = self._feeds.get(pane)
        return feed is not None and feed.is_ours

    def is_heard(self, pane: PaneId) -> bool:
        """Whether what a pane that is followed prints comes through just now."""
        feed = self._feeds.get(pane)
        return feed is None or feed.is_alive

    async def catch_up(self, pane: PaneId) -> None:
        """Wait until what tmux has sent of a pane so far is in its stream."""
        feed = self._feeds.get(pane)
        if feed is not None and feed.home is not None:
            await feed.home.catch_up()

    async def hear_again(self, pane: PaneId) -> None:
        """Where the connection of a pane that is followed was lost: do not wait until that is noticed."""
        feed = self._feeds.get(pane)
        if feed is not None and feed.is_unheard:
            async with self._connection.deadline(), self._opening:
                await self._hear(feed)

    async def forget(self, pane: PaneId) -> None:
        """Let go of a pane whose program is about to be replaced; its stream ends here."""
        feed = self._feeds.get(pane)
        if feed is not None:
            await self._drop(feed)
            feed.stream.finish(None, "another program was started in the pane")

    async def close(self) -> None:
        await self._stop()
        feeds = list(self._feeds.values())
        await asyncio.gather(*(self._drop(feed) for feed in feeds))
        await self._stop()  # a pipe may have ended meanwhile
        for feed in feeds:
            feed.stream.finish(None, "muxpilot has left")

    async def _stop(self) -> None:
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    async def _current(self, pane: PaneId) -> _Feed | None:
        """The stream there is, unless it has ended and something new runs in the pane."""
        feed = self._feeds.get(pane)
        if feed is not None and feed.stream.ended is not None and not (await self._panes.get(pane)).is_dead:
            await self._drop(feed)
            return None
        if feed is not None:
            await self._hear(feed)
        return feed

    async def _hear(self, feed: _Feed) -> None:
        if feed.is_unheard:
            await self._settle(feed, await self._find(feed))

    async def _begin(self, pane: PaneId) -> _Feed:
        feed = _Feed(PaneStream(pane))
        await self._connect(feed)
        self._feeds[pane] = feed
        return feed

    async def _connect(self, feed: _Feed) -> None:
        """By its session's output if that may be had, else by a pipe if the pane's is free."""
        try:
            await self._attach(feed)
        except NoStream:
            if self._connection.endpoint.is_far or not await self._pipe(feed):
                raise

    async def _pipe(self, feed: _Feed, launch: Launch | None = None, first: Sequence[Command] = ()) -> bool:
        source = PipeSource(
            self._connection.scratch, feed.stream, lambda ended: self._pipe_ended(feed, ended), launch
        )
        try:
            reply = await self._connection.run(*first, source.command())
        except BaseException:
            source.close()
            self._spawn(self._unpipe(feed.stream.pane))  # it may have been on its way
            raise
        if source.was_refused([block.lines for block in reply.blocks]):
            source.stop_reading()
            return False
        feed.pipe, feed.server_pid = source, self._connection.server_pid
        return True

    async def _attach(self, feed: _Feed) -> None:
        """Under the lock: a session has one client, however many of its panes are followed."""
        pane = await self._panes.get(feed.stream.pane)
        output = self._outputs.get(pane.session_id)
        if output is None or not output.is_connected:
            output = OutputSource(self._connection, pane.session_id, self._unsettled)
            await output.start()
            self._outputs[pane.session_id] = output
        output.add(feed.stream)
        feed.home, feed.server_pid = output, pane.server_pid

    async def _attach_or_say_why(self, feed: _Feed) -> None:
        """A pane that cannot be followed is a pane all the same: its stream ends, with the reason."""
        try:
            async with self._opening:
                await self._attach(feed)
        except NoStream as error:
            feed.stream.finish(None, error.what.rstrip("."))

    async def _drop(self, feed: _Feed) -> None:
        pane, pipe = feed.stream.pane, feed.pipe
        if self._feeds.get(pane) is feed:
            del self._feeds[pane]
        if pipe is not None:
            feed.pipe = None
            pipe.close()
            await self._unpipe(pane)
        await self._leave_home(feed)

    async def _unpipe(self, pane: PaneId) -> None:
        """Take our pipe out of a pane that lives on; its `cat` would linger there until the next output."""
        with suppress(MuxpilotError):  # the pane, or tmux, has gone
            await self._connection.run(("pipe-pane", "-t", pane), timeout_s=_TIDY_S)

    async def _leave_home(self, feed: _Feed) -> None:
        output, feed.home = feed.home, None
        if output is None:
            return
        output.remove(feed.stream)
        if not output.is_used:
            if self._outputs.get(output.session) is output:
                del self._outputs[output.session]
            await output.close()

    def _told(self, event: Notice | Output) -> None:
        if not isinstance(event, Notice):
            return
        if event.name == "subscription-changed" and event.rest.startswith(f"{DEATHS} "):
            dead = set(event.rest.rpartition(" : ")[2].split())
            self._doubt(*(feed for pane, feed in self._feeds.items() if pane in dead))
        elif event.name == "closed":
            # To ask for them connects again; without that, nobody would tell of the next death.
            self._doubt(*self._feeds.values())

    def _unsettled(self, stream: PaneStream) -> None:
        self._doubt(*(feed for feed in self._feeds.values() if feed.stream is stream))

    def _doubt(self, *feeds: _Feed) -> None:
        for feed in feeds:
            if feed.stream.ended is None and not feed.is_doubted:
                feed.is_doubted = True
                self._spawn(self._resettle(feed))

    def _pipe_ended(self, feed: _Feed, source: PipeSource) -> None:
        feed.pipe = None
        self._spawn(self._after_pipe(feed, source.exit))

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _after_pipe(self, feed: _Feed, exit: Exit | None) -> None:
        """The pipe's end is the pane's, unless somebody put another pipe in its place."""
        async with self._opening:
            try:
                pane = await self._find(feed)
            except MuxpilotError as error:
                await self._give_up(feed, exit, error)
                return
            if pane is None or pane.is_dead or exit is not None:
                await self._finish(feed, pane, exit)
            elif feed.stream.ended is None:
                feed.stream.gap("somebody replaced the pane's pipe")
                await self._reconnect(feed)

    async def _resettle(self, feed: _Feed) -> None:
        """The pane may have gone, died or moved: find it, and go on where it is now."""
        for pause_s in _FAR_PAUSES_S if self._connection.endpoint.is_far else (0.0,):
            await asyncio.sleep(pause_s)
            async with self._opening:
                feed.is_doubted = False
                if feed.stream.ended is not None:
                    return
                try:
                    await self._settle(feed, await self._find(feed))
                    return
                except MuxpilotError as error:
                    failed = error
            if not _may_come_back(failed):
                break
        if not feed.is_alive:
            await self._give_up(feed, None, failed)

    async def _settle(self, feed: _Feed, pane: Pane | None) -> None:
        if feed.pipe is not None:
            if pane is not None and pane.is_dead:
                await self._run_dry(feed, feed.pipe)
                await self._finish(feed, pane, feed.pipe.exit)
        elif pane is None or pane.is_dead:
            await self._finish(feed, pane, None)
        elif not await self._is_at_home(feed, pane):
            reason = "the pane moved, or the connection to its session was lost"
            if self._connection.endpoint.is_far:
                await self._leave_home(feed)
                await self._connect(feed)
                await self._drop_if_unfollowed(feed)
                feed.stream.gap(reason)
                return
            feed.stream.gap(reason)
            await self._reconnect(feed)

    async def _run_dry(self, feed: _Feed, pipe: PipeSource) -> None:
        """tmux does not end the pipe of a dead pane that stays, though all it had is on its way to us."""
        end = -1
        while pipe.exit is None and end != feed.stream.end:
            end = feed.stream.end
            await asyncio.sleep(_SILENCE_S)

    async def _is_at_home(self, feed: _Feed, pane: Pane) -> bool:
        """Its window may be linked into several sessions; the one we are with is as good as any."""
        if feed.home is None or not feed.home.is_connected:
            return False
        if feed.home.session == pane.session_id:
            return True
        try:
            return any(row.id == pane.id for row in await self._panes.list(feed.home.session))
        except NotFound:
            return False

    async def _reconnect(self, feed: _Feed) -> None:
        try:
            await self._leave_home(feed)
            await self._connect(feed)
        except MuxpilotError as error:
            await self._give_up(feed, None, error)
            return
        await self._drop_if_unfollowed(feed)

    async def _drop_if_unfollowed(self, feed: _Feed) -> None:
        """Its last follower may have left while it was being connected again, and found nothing to close."""
        if self._feeds.get(feed.stream.pane) is not feed:
            await self._drop(feed)

    async def _give_up(self, feed: _Feed, exit: Exit | None, error: MuxpilotError) -> None:
        await self._drop(feed)
        feed.stream.finish(exit, error.what.rstrip("."))

    async def _finish(self, feed: _Feed, pane: Pane | None, exit: Exit | None) -> None:
        if feed.home is not None:
            with suppress(MuxpilotError):
                await feed.home.catch_up(_TIDY_S)
        await self._leave_home(feed)
        if pane is None:
            await self._drop(feed)
            self._remember(feed)
        elif exit is None:
            exit = Exit(pane.exit_code, pane.dead_signal)
        feed.stream.finish(exit, "the program has ended" if pane is not None else "the pane is gone")

    def _remember(self, feed: _Feed) -> None:
        """Whoever made a pane may ask for its last words a little later."""
        if feed.is_ours:
            self._ended[feed.stream.pane] = feed.stream
            while len(self._ended) > _LAST_ENDED:
                del self._ended[next(iter(self._ended))]

    async def _find(self, feed: _Feed) -> Pane | None:
        try:
            pane = await self._panes.get(feed.stream.pane)
        except NotFound:
            return None
        return pane if feed.server_pid in (None, pane.server_pid) else None


def _may_come_back(error: MuxpilotError) -> bool:
    return isinstance(error, Unreachable | ConnectionLost | NotAnswering)
