"""Which source a followed pane gets: a journal, a pipe to us, or the control client of its session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from muxpilot.errors import MuxpilotError, NoStream, Refused
from muxpilot.journal.folders import Generation
from muxpilot.tasks import TaskSet
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId, SessionId
from muxpilot.tmux.models import Pane
from muxpilot.tmux.objects.launch import Launch
from muxpilot.tmux.objects.panes import Panes
from muxpilot.tmux.streams import journal_source
from muxpilot.tmux.streams.control_output import ControlOutputSource
from muxpilot.tmux.streams.far_sources import FarSources
from muxpilot.tmux.streams.followed_panes import FollowedPane, PaneSource
from muxpilot.tmux.streams.journal_source import JournalSource
from muxpilot.tmux.streams.pane_journals import PaneJournals
from muxpilot.tmux.streams.pipe import PipeSource
from muxpilot.tmux.streams.stream import PaneStream
from muxpilot.tmux.version import PIPES_END_WITH_PROGRAMS
from muxpilot.trace import Trace

# Commands that only clean up in tmux are not waited for longer than this.
CLEANUP_S = 0.5
# How long the program of a pipe that another muxpilot has just started may take to begin.
_WRITER_START_S = 2.0
_WRITER_POLL_S = 0.01


class PaneSources:
    """Connects followed panes to their sources, and disconnects them. A session has one control client.

    `on_pipe_end` is called when tmux closes a pipe; `on_possible_move` when a pane may be gone or in another
    session.
    """

    def __init__(
        self,
        connection: Connection,
        panes: Panes,
        journals: PaneJournals,
        far_sources: FarSources,
        *,
        tasks: TaskSet,
        trace: Trace,
        on_pipe_end: Callable[[FollowedPane, PaneSource], None],
        on_possible_move: Callable[[PaneStream, str], None],
    ) -> None:
        self._connection = connection
        self._panes = panes
        self._journals = journals
        self._far_sources = far_sources
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
            if self._connection.endpoint.is_remote or not await self._start_memory_pipe(followed, None, ()):
                raise

    async def follow_journal(self, followed: FollowedPane, pane: Pane) -> bool:
        """Join the journal of a pane, or start one. Return False if that is not possible.

        tmux refuses to start a pipe in a dead pane, but one that it has may still be read.
        """
        if not self._journals.are_kept:
            return False
        if pane.is_dead or not self._journals.journals.may_start:
            return await self._join_existing_journal(followed, pane)
        return await self._try_journal(followed)

    async def _join_existing_journal(self, followed: FollowedPane, pane: Pane) -> bool:
        """Follow the journal that the pane's pipe writes, or has written where tmux closes it at the end."""
        is_closed = pane.is_dead and await self._connection.server_version() >= PIPES_END_WITH_PROGRAMS
        name = f"#{{{journal_source.JOURNAL_OPTION}}}"
        option = name if is_closed else f"#{{?pane_pipe,{name},}}"
        ask = ("display-message", "-p", "-t", followed.pane, option)
        found = (await self._connection.run(ask, repeatable=True)).first_line
        if not is_closed:
            return await self.join_journal(followed, found)
        generation = await self._journals.find(followed.pane, found)
        return generation is not None and self._use_journal(followed, generation, None)

    async def _try_journal(self, followed: FollowedPane) -> bool:
        generation = await self._journals.create(followed.pane, "")
        return generation is not None and await self._start_journal(followed, generation, None, ())

    async def start_pipe(
        self, followed: FollowedPane, launch: Launch | None = None, first: Sequence[Command] = ()
    ) -> bool:
        """Run the commands `first` and start a pipe, on one line. Return False if the pane has a pipe.

        The pipe writes a journal where journals are kept. If another muxpilot has started one, it is joined.
        """
        mark, nonce = (launch.mark, launch.nonce) if launch is not None else ("", "")
        generation = await self._journals.create(followed.pane, mark, nonce=nonce)
        if generation is None:
            return await self._start_memory_pipe(followed, launch, first)
        return await self._start_journal(followed, generation, launch, first)

    async def _start_journal(
        self, followed: FollowedPane, generation: Generation, launch: Launch | None, first: Sequence[Command]
    ) -> bool:
        command = self._journals.pipe_command(followed.pane, generation)
        try:
            # If the connection is lost, tmux may have started the pipe: then its journal is found later.
            reply = await self._connection.run(*first, command)
        except Refused:
            generation.remove_unused()
            raise
        other = journal_source.name_of_other_pipe([block.lines for block in reply.blocks])
        if other is not None and launch is not None and await self._end_journal(followed.pane, other):
            reply = await self._connection.run(command)
            other = journal_source.name_of_other_pipe([block.lines for block in reply.blocks])
        if other is None:
            return self._use_journal(followed, generation, launch)
        generation.remove_unused()
        return launch is None and await self.join_journal(followed, other)

    async def _end_journal(self, pane: PaneId, name: str) -> bool:
        """End the journal of the program before. Return False if the pane's pipe is not a muxpilot's."""
        generation = await self._journals.find(pane, name)
        if generation is None:
            return False
        generation.mark_replaced()
        await self._run_cleanup(journal_source.stop_command(pane, generation))
        return True

    async def join_journal(self, followed: FollowedPane, name: str) -> bool:
        """Follow the journal that the pane's pipe writes. Return False if the pipe is not a muxpilot's."""
        generation = await self._journals.find(followed.pane, name)
        if generation is None or not await _is_being_written(generation):
            self._trace.debug("pane has another pipe", pane=followed.pane)
            return False
        return self._use_journal(followed, generation, None)

    def _use_journal(self, followed: FollowedPane, generation: Generation, launch: Launch | None) -> bool:
        """Read a journal into the stream. Return False if it cannot be read."""
        source = JournalSource(
            generation,
            followed.stream,
            lambda ended: self._on_pipe_end(followed, ended),
            self._journals.journals,
            launch=launch,
            trace=self._trace,
        )
        try:
            source.begin()
        except OSError as error:
            source.stop_reading()
            self._trace.warning("journal cannot be read", pane=followed.pane, error=error)
            return False
        followed.pipe, followed.server_pid = source, self._connection.server_pid
        followed.is_own = followed.stream.is_whole
        self._trace.debug(
            "stream opened",
            pane=followed.pane,
            source="journal",
            journal=generation.name,
            at=followed.stream.end,
        )
        return True

    async def _start_memory_pipe(
        self, followed: FollowedPane, launch: Launch | None, first: Sequence[Command]
    ) -> bool:
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
                self._connection,
                pane.session_id,
                self._on_possible_move,
                self._trace,
                on_missed_output=self._far_sources.catch_up_soon,
            )
            await control.start()
            self._control_clients[pane.session_id] = control
        followed.control, followed.server_pid = control, pane.server_pid
        if self._connection.endpoint.is_remote:
            await self._connect_far(followed, control, pane)
        else:
            control.add(followed.stream)
        self._trace.debug(
            "stream opened", pane=followed.pane, source="control client", session=pane.session_id
        )

    async def _connect_far(self, followed: FollowedPane, control: ControlOutputSource, pane: Pane) -> None:
        try:
            await self._far_sources.connect(followed, control, pane)
        except BaseException:  # so that the next attempt connects again
            await self.leave_control_client(followed)
            raise

    async def disconnect(self, followed: FollowedPane, *, ends_journal: bool = False) -> None:
        """Take a followed pane's source away, whichever it is. A journal goes on unless `ends_journal`."""
        pipe, followed.pipe = followed.pipe, None
        if pipe is not None:
            pipe.close()
        if isinstance(pipe, PipeSource):
            await self._stop_pipe(followed.pane)
        elif pipe is not None and ends_journal:
            pipe.generation.mark_replaced()
            await self._run_cleanup(journal_source.stop_command(followed.pane, pipe.generation))
        if ends_journal and followed.feed is not None and followed.feed.journal is not None:
            await self._run_cleanup(journal_source.stop_command(followed.pane, followed.feed.journal))
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
        await self._run_cleanup(("pipe-pane", "-t", pane))

    async def _run_cleanup(self, command: Command) -> None:
        with suppress(MuxpilotError):  # the pane, or tmux, is gone
            await self._connection.run(command, timeout_s=CLEANUP_S)


async def _is_being_written(generation: Generation) -> bool:
    """Return whether the program of a pipe runs. Wait for one that another muxpilot has just started."""
    give_up = asyncio.get_running_loop().time() + _WRITER_START_S
    while generation.writer_pid is None and not generation.has_ended:
        if asyncio.get_running_loop().time() > give_up:
            return False
        await asyncio.sleep(_WRITER_POLL_S)  # a file appears; another muxpilot's watch cannot be shared
    return generation.is_being_written
