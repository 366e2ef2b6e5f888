"""The streams of all panes: open one, find one, close them all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from muxpilot.errors import NoStream
from muxpilot.journal.journals import Journals
from muxpilot.tasks import TaskSet
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.objects.launch import Launch
from muxpilot.tmux.objects.panes import Panes
from muxpilot.tmux.objects.recorded_exit import read_exit
from muxpilot.tmux.streams.ended_journal import read_ended_journal
from muxpilot.tmux.streams.far_feed import FarFeed
from muxpilot.tmux.streams.far_journals import FarJournals
from muxpilot.tmux.streams.far_sources import FarSources
from muxpilot.tmux.streams.followed_panes import FollowedPane, FollowedPanes
from muxpilot.tmux.streams.journal_source import JournalSource
from muxpilot.tmux.streams.journal_sync import wait_until_written
from muxpilot.tmux.streams.pane_journals import PaneJournals
from muxpilot.tmux.streams.recovery import StreamRecovery
from muxpilot.tmux.streams.sources import PaneSources
from muxpilot.tmux.streams.stream import STOPPED, PaneStream

# How long we wait, when we leave, for the programs that we have just started. A server ends within 2 seconds.
_PROGRAM_START_S = 1.0
_PROGRAM_POLL_S = 0.002
# So many programs of a pane can be read back at once.
_EARLIER_STREAMS = 4


class Streams:
    """The streams of one server. Panes that we create are followed from their start to their end.

    `journals` is where the output is kept; without it, only in memory. Other panes are followed while there
    is a follower. `PaneSources` decides where the bytes come from. `StreamRecovery` decides what happens when
    a source fails or a pane ends.
    """

    def __init__(self, connection: Connection, panes: Panes, journals: Journals | None = None) -> None:
        self._connection = connection
        self._panes = panes
        self._trace = connection.endpoint.trace
        self.journals = PaneJournals(connection, journals, self._trace)
        self.far_journals = FarJournals(connection, journals, self._trace)
        self._tasks = TaskSet(self._trace)
        self._lock = asyncio.Lock()  # held while a stream gets, changes or loses its source
        self._followed_panes = FollowedPanes()
        self._sources = PaneSources(
            connection,
            panes,
            self.journals,
            FarSources(connection, self.far_journals, tasks=self._tasks, trace=self._trace),
            tasks=self._tasks,
            trace=self._trace,
            on_pipe_end=lambda followed, pipe: self._recovery.on_pipe_end(followed, pipe),
            on_possible_move=lambda stream, why: self._recovery.on_possible_move(stream, why),
        )
        self._recovery = StreamRecovery(
            connection,
            panes,
            self._followed_panes,
            self._sources,
            lock=self._lock,
            tasks=self._tasks,
            trace=self._trace,
        )
        connection.add_listener(self._recovery.on_tmux_event)

    async def follow_new_pane(
        self, pane: PaneId, launch: Launch, setup: Sequence[Command] = ()
    ) -> PaneStream:
        """Follow a pane that was just created, then let its program start. The commands `setup` run first."""
        # We are a follower ourselves, one that never leaves.
        followed = FollowedPane(self._new_stream(pane), followers=1, is_own=True)
        followed.stream.is_whole = True
        try:
            if not await self._sources.start_pipe(followed, launch, setup):
                await self._attach_or_end_stream(followed)
        finally:
            if followed.pipe is not None:
                launch.start_program(_journal_path(followed))
            else:
                launch.release()
        await self.end_stream(pane)  # of the program before
        self._followed_panes.add(followed)
        return followed.stream

    @asynccontextmanager
    async def open(self, pane: PaneId) -> AsyncIterator[PaneStream]:
        """Follow a pane. All who follow it at the same time share one stream."""
        async with self._connection.deadline(), self._lock:
            followed = await self._find_followed(pane) or await self._follow(pane)
            followed.followers += 1
        try:
            yield followed.stream
        finally:
            followed.followers -= 1
            if not followed.followers:
                self._trace.debug("stream closed", pane=pane, why="the last follower left")
                await self._recovery.drop(followed)

    def find_stream(self, pane: PaneId) -> PaneStream | None:
        """Return the stream of a followed pane, or of one that we created and that ended recently."""
        return self._followed_panes.find_stream(pane)

    def is_own_pane(self, pane: PaneId) -> bool:
        """Return whether the stream of a followed pane has everything from the first byte on.

        It has if a muxpilot created the pane.
        """
        followed = self._followed_panes.get(pane)
        return followed is not None and followed.is_own

    def is_receiving(self, pane: PaneId) -> bool:
        """Return False if a followed pane has no working source at the moment, or what it missed is read."""
        followed = self._followed_panes.get(pane)
        return followed is None or followed.is_receiving

    async def catch_up(self, pane: PaneId, *, is_exact: bool = False) -> None:
        """Wait until all output of a pane that tmux has sent so far is in its stream.

        The output of a pane that we created is waited for only with `is_exact`: it takes two more requests,
        and where our marks are in the output nothing depends on it.
        """
        followed = self._followed_panes.get(pane)
        if followed is not None and followed.control is not None:
            await followed.control.catch_up()
        elif (
            followed is not None
            and isinstance(followed.pipe, JournalSource)
            and (is_exact or not followed.is_own)
        ):
            await wait_until_written(self._connection, followed.pipe)

    async def reconnect(self, pane: PaneId) -> None:
        """Give a followed pane that lost its source another one now, before the loss is noticed."""
        followed = self._followed_panes.get(pane)
        if followed is not None and followed.needs_source:
            async with self._connection.deadline(), self._lock:
                await self._recovery.ensure_source(followed)

    async def end_stream(self, pane: PaneId) -> None:
        """End the stream of a pane in which another program starts."""
        followed = self._followed_panes.get(pane)
        if followed is not None:
            await self._recovery.drop(followed, ends_journal=True)
            followed.stream.finish(None, "another program was started in the pane")

    async def close(self) -> None:
        """End all streams, and remove our pipes and control clients from tmux."""
        await self._tasks.close()
        await self.wait_for_starting_programs()
        all_followed = list(self._followed_panes)
        await asyncio.gather(*(self._recovery.drop(followed) for followed in all_followed))
        await self._tasks.close()  # a pipe may have ended meanwhile
        for followed in all_followed:
            followed.stream.finish(None, STOPPED)

    async def wait_for_starting_programs(self) -> None:
        """Give programs the time to learn where their journal is, and shells to read their start-up files."""
        give_up = asyncio.get_running_loop().time() + _PROGRAM_START_S
        sources = [followed.pipe for followed in self._followed_panes]
        journals = [source for source in sources if isinstance(source, JournalSource)]
        while any(journal.is_starting for journal in journals):
            if asyncio.get_running_loop().time() > give_up:
                self._trace.debug("a program has not started in time")
                return
            await asyncio.sleep(_PROGRAM_POLL_S)  # no event tells that a file was removed

    async def read_ended(self, pane: PaneId, name: str | None = None) -> PaneStream | None:
        """Return the stream of a program that has ended, with its status if its journal has that.

        It is the last one of the pane, or the one with this name. None if there is no such journal.
        """
        if self.far_journals.are_kept:
            return await self._read_far_ended(pane, name or "")
        begun = [one for one in await self.journals.list(pane) if one.writer_pid is not None]
        found = [one for one in begun if name in (None, one.name)]
        if not found:
            return None
        is_last = found[-1].name == begun[-1].name
        exit_status = await read_exit(self._connection, pane) if is_last else None
        return read_ended_journal(pane, found[-1], self._trace, exit_status=exit_status)

    async def _read_far_ended(self, pane: PaneId, name: str) -> PaneStream | None:
        last = await self.far_journals.find(pane)
        found = last if last is None or name in ("", last.name) else await self.far_journals.find(pane, name)
        if found is None:
            return None
        feed = FarFeed(self._new_stream(pane), self.far_journals, self._trace)
        feed.join(found)
        await feed.read_rest()
        exit_status = await read_exit(self._connection, pane) if found == last else None
        feed.stream.finish(exit_status, "the program has ended")
        return feed.stream

    async def read_earlier(self, pane: PaneId, name: str, *, before: str) -> list[PaneStream]:
        """Return the streams of a pane from the one with this name on, up to the one before `before`."""
        found = await self.journals.list(pane)
        names = [one.name for one in found]
        if name not in names:
            return []
        end = names.index(before) if before in names else len(names)
        wanted = found[names.index(name) : end][-_EARLIER_STREAMS:]
        return [read_ended_journal(pane, one, self._trace) for one in wanted]

    def _new_stream(self, pane: PaneId) -> PaneStream:
        return PaneStream(pane, trace=self._trace)

    async def _find_followed(self, pane: PaneId) -> FollowedPane | None:
        """Return the followed pane, unless its stream has ended and a new program runs in it."""
        followed = self._followed_panes.get(pane)
        if followed is None:
            return None
        if followed.stream.end_event is not None and not (await self._panes.get(pane)).is_dead:
            self._trace.debug("stream closed", pane=pane, why="a new program runs in the pane")
            await self._recovery.drop(followed, ends_journal=True)
            return None
        await self._recovery.ensure_source(followed)
        return followed

    async def _follow(self, pane: PaneId) -> FollowedPane:
        """Follow a pane through its journal; through a control client if its pipe is a person's."""
        row = await self._panes.get(pane)
        followed = FollowedPane(self._new_stream(pane))
        if self._connection.endpoint.is_remote or not await self._sources.follow_journal(followed, row):
            await self._sources.connect(followed)
        if followed.pipe is not None and followed.pipe.exit_status is not None:
            if not row.is_dead:
                # A person has started another program in a pane of ours, and its pipe goes on.
                await self._sources.disconnect(followed, ends_journal=True)
                return await self._follow(pane)
            await self._recovery.finish_dead(followed, row)
        self._followed_panes.add(followed)
        return followed

    async def _attach_or_end_stream(self, followed: FollowedPane) -> None:
        """Attach to the session of a new pane. If that is refused, the pane stays but its stream ends."""
        try:
            async with self._lock:
                await self._sources.attach(followed)
        except NoStream as error:
            followed.stream.finish(None, error.what.rstrip("."))


def _journal_path(followed: FollowedPane) -> str:
    """Return the folder of a pane's journal, for the launcher; empty where there is none."""
    path = str(followed.pipe.generation.path) if isinstance(followed.pipe, JournalSource) else ""
    return path if "\n" not in path else ""  # the launcher reads one line
