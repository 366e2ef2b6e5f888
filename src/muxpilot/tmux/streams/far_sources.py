"""Gives panes of other hosts their journals: starts one there, joins one, continues after an interruption."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import chain, repeat

from muxpilot.errors import MuxpilotError
from muxpilot.tasks import TaskSet
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.models import Pane
from muxpilot.tmux.streams import journal_source
from muxpilot.tmux.streams.control_output import ControlOutputSource
from muxpilot.tmux.streams.far_feed import FarFeed
from muxpilot.tmux.streams.far_journals import FarJournal, FarJournals
from muxpilot.tmux.streams.followed_panes import FollowedPane
from muxpilot.trace import Trace, describe_error

# The pauses between two readings of the journal of a pane that prints all the time.
_PAUSES_S = (0.0, 0.1, 0.2, 0.5)
_LONGEST_PAUSE_S = 1.0
# After so many attempts that failed one after the other, the pane is followed without its journal.
_MOST_FAILURES = 20
_UNREADABLE = "the pane's journal on the other host cannot be read"


class FarSources:
    """Connects followed panes of one far server to a control client and to their journals."""

    def __init__(
        self, connection: Connection, journals: FarJournals, *, tasks: TaskSet, trace: Trace
    ) -> None:
        self._connection = connection
        self._journals = journals
        self._tasks = tasks
        self._trace = trace

    async def connect(self, followed: FollowedPane, control: ControlOutputSource, pane: Pane) -> None:
        """Feed a pane's stream from a control client, and from the pane's journal what was missed."""
        if followed.feed is None:
            followed.feed = FarFeed(followed.stream, self._journals, self._trace)
            await self._begin(followed.feed, control, pane)
            return
        followed.feed.fall_behind()
        control.add(followed.stream, followed.feed)
        if not followed.feed.is_live and not await self._try_catch_up(followed.feed, control):
            self.catch_up_soon(followed.feed, control)

    def catch_up_soon(self, feed: FarFeed, control: ControlOutputSource) -> None:
        """Read the journal until the feed is live, in the background."""
        self._tasks.start(self._catch_up(feed, control), name="catch up with far journal")

    async def _begin(self, feed: FarFeed, control: ControlOutputSource, pane: Pane) -> None:
        """Start a journal for a pane that has none, or join the one that it has."""
        found = await self._find_or_start(feed, control, pane) if self._journals.are_kept else None
        if feed.is_live:
            return
        control.add(feed.stream, feed)
        if found is None:
            feed.begin_without_journal()
            return
        feed.join(found)
        if not await self._try_catch_up(feed, control):
            if feed.has_begun:
                self.catch_up_soon(feed, control)
            else:
                feed.give_up(_UNREADABLE)

    async def _find_or_start(
        self, feed: FarFeed, control: ControlOutputSource, pane: Pane
    ) -> FarJournal | None:
        is_piped, name = await self._read_pipe(pane)
        may_start = self._journals.journals.may_start and not pane.is_dead
        if is_piped:
            found = await self._journals.find(pane.id, name) if name else None
            if found is None or not found.is_written or found.program == pane.pid or not may_start:
                return found if found is not None and found.is_written else None
            # Another program was started in the pane, and the pipe of the one before goes on.
            await self._connection.run(journal_source.stop_command(pane.id, found))
        return await self._start(feed, control, pane) if may_start else None

    async def _start(self, feed: FarFeed, control: ControlOutputSource, pane: Pane) -> FarJournal | None:
        """Start a journal. Return the one that another muxpilot has started meanwhile."""
        journal = await self._journals.create(pane.id, pane.pid)
        if journal is None:
            return None
        cap_bytes = self._journals.journals.limits.cap_bytes
        command = journal_source.pipe_command(pane.id, journal, cap_bytes)
        other = journal_source.name_of_other_pipe(await control.add_paused(feed, command))
        if other is None:
            feed.begin(journal)
            return None
        return await self._journals.find(pane.id, other) if other else None

    async def _read_pipe(self, pane: Pane) -> tuple[bool, str]:
        """Return whether the pane has a pipe, and the name of the journal that the pipe may be of."""
        option = f"#{{pane_pipe}} #{{{journal_source.JOURNAL_OPTION}}}"
        ask = ("display-message", "-p", "-t", pane.id, option)
        is_piped, _, name = (await self._connection.run(ask, repeatable=True)).first_line.partition(" ")
        return is_piped == "1", name

    async def _try_catch_up(self, feed: FarFeed, control: ControlOutputSource) -> bool:
        """Read the journal once. Return whether the feed is live. Raise if the control client is gone."""
        try:
            return await feed.catch_up(control.catch_up)
        except MuxpilotError as error:
            self._trace.debug("far journal not read", pane=feed.stream.pane, error=describe_error(error))
            if not control.is_connected:
                raise
            feed.failures += 1
            if feed.failures >= _MOST_FAILURES:
                feed.give_up(_UNREADABLE)
            return feed.is_live

    async def _catch_up(self, feed: FarFeed, control: ControlOutputSource) -> None:
        for pause_s in chain(_PAUSES_S, repeat(_LONGEST_PAUSE_S)):
            await asyncio.sleep(pause_s)
            if feed.is_live or not control.is_fed(feed):
                return
            with suppress(MuxpilotError):  # the control client is gone: another one will catch up
                await self._try_catch_up(feed, control)
