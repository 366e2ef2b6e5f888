"""The way to one tmux server: a control client when there is a session to be with, one process otherwise.

Nothing that may have had an effect is ever sent twice. Only what is marked `repeatable`, which reads and
changes nothing, goes out again when the connection breaks under it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from muxpilot.errors import ConnectionLost, NoServer, NotAnswering
from muxpilot.tmux import formats, oneshot, version
from muxpilot.tmux.control import Braces, ControlClient, Listener
from muxpilot.tmux.endpoint import Command, Endpoint
from muxpilot.tmux.failures import failure, server_is_gone
from muxpilot.tmux.hub import OTHERS, Hub
from muxpilot.tmux.models import CLIENT, SESSION, Client, Session
from muxpilot.tmux.protocol import Notice, Output, Reply
from muxpilot.tmux.scratch import Scratch

Result = TypeVar("Result")

# tmux tells nobody when a pane dies that stays on the screen; a subscription does, within a second.
_DEATHS = "muxpilot-dead::#{S:#{W:#{P:#{?pane_dead,#{pane_id} ,}}}}"

_RESTART_S = 2.0
_RESTART_PAUSE_S = 0.02


@dataclass(slots=True)
class _Live:
    control: ControlClient
    hub: Hub
    hub_id: str = ""
    version: version.Version = version.OLDEST


class Connection:
    def __init__(self, endpoint: Endpoint, *, timeout_s: float) -> None:
        self.endpoint = endpoint
        self.timeout_s = timeout_s
        self._scratch: Scratch | None = None
        self._live: _Live | None = None
        self._opening: asyncio.Task[_Live | None] | None = None
        self._tending: asyncio.Task[None] | None = None
        self._is_restless = False
        self._listeners: list[Listener] = []

    @property
    def scratch(self) -> Scratch:
        if self._scratch is None:
            self._scratch = Scratch()
        return self._scratch

    def listen(self, listener: Listener) -> None:
        """Be told what tmux tells of its own accord, and `closed` when the connection goes."""
        self._listeners.append(listener)

    async def run(
        self, *commands: Command, timeout_s: float | None = None, repeatable: bool = False
    ) -> Reply:
        """Run commands on a server that is there; the first that fails ends the line and is raised."""
        async with self._deadline(timeout_s):
            try:
                reply = await self._through_client(commands)
            except ConnectionLost:
                if not repeatable:
                    raise
                reply = await self._through_client(commands)
        return _checked(reply)

    async def records(
        self, table: formats.Fields, into: Callable[..., Result], *command: str
    ) -> list[Result]:
        """What a listing command prints, as records."""
        reply = await self.run((*command, "-F", formats.template(table)), repeatable=True)
        return formats.parse(table, reply.blocks[0].lines, into)

    async def run_first(self, *commands: Command, timeout_s: float | None = None) -> Reply:
        """The same, but a server that is not there is started."""
        async with self._deadline(timeout_s):
            try:
                return _checked(await self._through_client(commands))
            except NoServer:
                return _checked(await self._start_server(commands))

    async def server_version(self) -> version.Version:
        async with self._deadline(None):
            live = await self._connected()
            if live is not None:
                return live.version
            return version.require((await self._alone((("display-message", "-p", "#{version}"),))).first_line)

    async def close(self) -> None:
        for task in (self._opening, self._tending):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        if self._live is not None:
            await self._end(self._live)
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None

    @asynccontextmanager
    async def _deadline(self, timeout_s: float | None) -> AsyncIterator[None]:
        limit = self.timeout_s if timeout_s is None else timeout_s
        try:
            async with asyncio.timeout(limit):
                yield
        except TimeoutError:
            raise NotAnswering(f"tmux did not answer within {limit:g} s.") from None

    async def _through_client(self, commands: tuple[Command, ...]) -> Reply:
        live = await self._connected()
        if live is None:
            return await self._alone(commands)
        return await live.control.request(*commands)

    async def _alone(self, commands: tuple[Command, ...]) -> Reply:
        return await oneshot.run(self.endpoint, commands)

    async def _start_server(self, commands: tuple[Command, ...]) -> Reply:
        """A server that is just ending takes the newcomer down with it: nothing was made, so ask again."""
        loop = asyncio.get_running_loop()
        give_up = loop.time() + _RESTART_S
        while True:
            reply = await oneshot.run(self.endpoint, commands, may_start_server=True)
            if not server_is_gone(reply.error or "") or loop.time() > give_up:
                return reply
            await asyncio.sleep(_RESTART_PAUSE_S)

    async def _connected(self) -> _Live | None:
        """The live connection, or None where there is no session to be with."""
        if self._tending is not None:
            await asyncio.wait([self._tending])
        if self._live is not None:
            return self._live
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(self._opened)
        return await _shared(self._opening)

    def _opened(self, task: asyncio.Task[_Live | None]) -> None:
        self._opening = None
        if not task.cancelled():
            task.exception()  # told to whoever waited; nobody may be left

    async def _open(self) -> _Live | None:
        self.endpoint.check()
        hub = Hub(self.scratch)
        try:
            argv = self.endpoint.argv("-N", "-C", commands=hub.commands())
            control = await ControlClient.start(argv, self.endpoint.environment(), self._told)
        except BaseException:
            hub.close()
            raise
        live = _Live(control, hub)
        try:
            async with asyncio.timeout(self.timeout_s):
                await self._settle_in(live)
                if await self._is_lonely(live):
                    await self._end(live)
                    return None
        except BaseException:
            await self._end(live)
            raise
        self._live = live
        return live

    async def _settle_in(self, live: _Live) -> None:
        try:
            reply = await live.control.request(("display-message", "-p", "#{session_id} #{version}"))
        except ConnectionLost:
            raise failure(await live.control.last_words()) from None
        live.hub_id, words = _checked(reply).first_line.split(" ", 1)
        live.version = version.require(words)
        await live.control.request(("refresh-client", "-B", _DEATHS))
        await self._step_back(live.control)

    async def _step_back(self, control: ControlClient) -> None:
        """Make sure that a bare `tmux attach` does not land on the hub.

        tmux prefers a session that nobody is attached to, then the most recently used. Where people are
        attached to all of theirs, the hub would be that one: the session they used last is used again.
        """
        rows = (
            _checked(await control.request(("list-sessions", "-F", formats.template(SESSION))))
            .blocks[0]
            .lines
        )
        others = [row for row in formats.parse(SESSION, rows, Session) if not row.is_hub]
        if not others or any(row.attached == 0 for row in others):
            return
        last = max(others, key=lambda row: row.activity)
        rows = (
            _checked(await control.request(("list-clients", "-F", formats.template(CLIENT)))).blocks[0].lines
        )
        theirs = [row for row in formats.parse(CLIENT, rows, Client) if row.session_id == last.id]
        if theirs:
            client = max(theirs, key=lambda row: row.activity)
            await control.request(("switch-client", "-E", "-c", client.name, "-t", last.id))

    async def _is_lonely(self, live: _Live) -> bool:
        """Let the hub go if no other session is left, so that it never keeps a tmux server alive."""
        stay = Braces.around(("display-message", "-p", "stay"))
        leave = Braces.around(("kill-session", "-t", live.hub_id))
        try:
            reply = await live.control.request(("if-shell", "-F", OTHERS, stay, leave))
        except ConnectionLost:
            return True
        return not any(block.lines == (b"stay",) for block in reply.blocks)

    def _told(self, event: Notice | Output) -> None:
        if (
            isinstance(event, Notice)
            and event.name in ("sessions-changed", "closed")
            and self._live is not None
        ):
            self._is_restless = True
            if self._tending is None:
                self._tending = asyncio.create_task(self._tend(self._live))
        for listener in self._listeners:
            listener(event)

    async def _tend(self, live: _Live) -> None:
        """Sessions came or went, or the connection broke: go on with it, or let go of it."""
        try:
            while self._is_restless:
                self._is_restless = False
                if await self._is_lonely(live):
                    await self._end(live)
                    return
        finally:
            self._tending = None

    async def _end(self, live: _Live) -> None:
        if self._live is live:
            self._live = None
        live.hub.close()
        await live.control.close()


def _checked(reply: Reply) -> Reply:
    if reply.error is not None:
        raise failure(reply.error)
    return reply


async def _shared(task: asyncio.Task[Result]) -> Result:
    """Wait for a task that others wait for too: whoever leaves early does not take it along."""
    return await asyncio.shield(task)
