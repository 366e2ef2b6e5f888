"""Which stream belongs to which pane, and where each gets its bytes from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

from muxpilot.errors import MuxpilotError, NoStream
from muxpilot.tmux.connection import Connection
from muxpilot.tmux.ids import PaneId, SessionId
from muxpilot.tmux.launch import Launch
from muxpilot.tmux.models import Pane
from muxpilot.tmux.panes import Panes
from muxpilot.tmux.protocol import Notice, Output
from muxpilot.tmux.streams.output import OutputSource
from muxpilot.tmux.streams.pipe import PipeSource
from muxpilot.tmux.streams.stream import PaneStream


class Streams:
    """Panes that we made are piped from their birth to their end; others while somebody follows them."""

    def __init__(self, connection: Connection, panes: Panes) -> None:
        self._connection = connection
        self._panes = panes
        self._streams: dict[PaneId, PaneStream] = {}
        self._followers: dict[PaneId, int] = {}
        self._pipes: dict[PaneId, PipeSource] = {}
        self._outputs: dict[SessionId, OutputSource] = {}
        self._homes: dict[PaneId, OutputSource] = {}
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        connection.listen(self._told)

    async def adopt(self, pane: PaneId, launch: Launch) -> PaneStream:
        """Take up a pane that was just made, and let its program start."""
        stream = self._streams[pane] = PaneStream(pane)
        self._followers[pane] = 1  # our own; it never leaves
        try:
            if not await self._pipe(stream, launch):
                await self._attach(stream)
        finally:
            launch.open_gate()
            if pane not in self._pipes:
                launch.let_go()
        return stream

    @asynccontextmanager
    async def open(self, pane: PaneId) -> AsyncIterator[PaneStream]:
        """Follow a pane; the same stream for everybody who follows it at the same time."""
        async with self._opening:
            stream = self._streams.get(pane) or await self._begin(pane)
            self._followers[pane] = self._followers.get(pane, 0) + 1
        try:
            yield stream
        finally:
            self._followers[pane] -= 1
            if not self._followers[pane]:
                await self._drop(stream)

    def of(self, pane: PaneId) -> PaneStream | None:
        """The stream of a pane that is being followed already."""
        return self._streams.get(pane)

    async def forget(self, pane: PaneId) -> None:
        """Let go of a pane whose program is about to be replaced; its stream ends here."""
        stream = self._streams.get(pane)
        if stream is None:
            return
        if pane in self._pipes:
            await self._connection.run(("pipe-pane", "-t", pane))
        await self._drop(stream)
        stream.finish(None, "another program was started in the pane")

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._unpipe()
        for output in self._outputs.values():
            await output.close()
        self._outputs.clear()

    async def _begin(self, pane: PaneId) -> PaneStream:
        stream = PaneStream(pane)
        try:
            await self._attach(stream)
        except NoStream:
            if not await self._pipe(stream):
                raise
        self._streams[pane] = stream
        return stream

    async def _pipe(self, stream: PaneStream, launch: Launch | None = None) -> bool:
        source = PipeSource(self._connection.scratch, stream, self._pipe_ended, launch)
        try:
            reply = await self._connection.run(source.command())
        except BaseException:
            source.close()
            raise
        if source.was_refused([block.lines for block in reply.blocks]):
            source.close()
            return False
        self._pipes[stream.pane] = source
        return True

    async def _attach(self, stream: PaneStream) -> None:
        session = (await self._panes.get(stream.pane)).session_id
        output = self._outputs.get(session)
        if output is None:
            output = OutputSource(self._connection, session, self._unsettled)
            await output.start()
            self._outputs[session] = output
        output.add(stream)
        self._homes[stream.pane] = output

    async def _drop(self, stream: PaneStream) -> None:
        self._streams.pop(stream.pane, None)
        self._followers.pop(stream.pane, None)
        pipe = self._pipes.pop(stream.pane, None)
        if pipe is not None:
            pipe.close()
        await self._leave_home(stream)

    async def _leave_home(self, stream: PaneStream) -> None:
        output = self._homes.pop(stream.pane, None)
        if output is None:
            return
        output.remove(stream)
        if not output.is_used:
            self._outputs.pop(output.session, None)
            await output.close()

    def _told(self, event: Notice | Output) -> None:
        if isinstance(event, Notice) and event.name == "subscription-changed":
            dead = set(event.rest.rpartition(" : ")[2].split())
            for stream in [stream for pane, stream in self._streams.items() if pane in dead]:
                self._unsettled(stream)

    def _pipe_ended(self, source: PipeSource) -> None:
        self._pipes.pop(source.pane, None)
        self._spawn(self._after_pipe(source.stream, source.status))

    def _unsettled(self, stream: PaneStream) -> None:
        self._spawn(self._resettle(stream))

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _after_pipe(self, stream: PaneStream, status: int | None) -> None:
        """The pipe's end is the pane's, unless somebody put another pipe in its place."""
        pane = await self._find(stream.pane)
        if pane is not None and not pane.is_dead and stream.ended is None and status is None:
            stream.gap("somebody replaced the pane's pipe")
            await self._reattach(stream)
            return
        await self._finish(stream, pane, status)

    async def _resettle(self, stream: PaneStream) -> None:
        """The pane may have gone, died or moved: find it, and go on where it is now."""
        async with self._opening:
            pane = await self._find(stream.pane)
            home = self._homes.get(stream.pane)
            if pane is None or pane.is_dead:
                await self._finish(stream, pane, None)
            elif home is not None and not (home.session == pane.session_id and home.is_connected):
                stream.gap("the pane moved, or the connection to its session was lost")
                await self._reattach(stream)

    async def _reattach(self, stream: PaneStream) -> None:
        try:
            await self._leave_home(stream)
            await self._attach(stream)
        except MuxpilotError as error:
            stream.finish(None, str(error))

    async def _finish(self, stream: PaneStream, pane: Pane | None, status: int | None) -> None:
        if stream.ended is not None:
            return
        await self._leave_home(stream)
        if pane is None and self._streams.get(stream.pane) is stream:
            await self._drop(stream)
        if status is None and pane is not None:
            status = pane.exit_code
        stream.finish(status, "the program has ended" if pane is not None else "the pane is gone")

    async def _find(self, pane: PaneId) -> Pane | None:
        try:
            return await self._panes.get(pane)
        except MuxpilotError:
            return None

    async def _unpipe(self) -> None:
        """Take our pipes out of panes that live on; a `cat` with no reader would linger there."""
        for pane, source in list(self._pipes.items()):
            source.close()
            try:
                await self._connection.run(("pipe-pane", "-t", pane))
            except MuxpilotError:
                continue  # the pane, or tmux, has gone
        self._pipes.clear()
