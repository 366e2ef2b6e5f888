"""The way to one tmux server: a control client when there is a session to be with, one process otherwise.

Nothing that may have had an effect is ever sent twice. Only what is marked `repeatable`, which reads and
changes nothing, goes out again when the connection breaks under it.
"""

from __future__ import annotations

import asyncio
import secrets
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from muxpilot.errors import ConnectionLost, NoServer, Refused
from muxpilot.tmux import formats, version
from muxpilot.tmux.connection import oneshot
from muxpilot.tmux.connection.attached_client import Lifeline
from muxpilot.tmux.connection.control import Listener
from muxpilot.tmux.connection.deadlines import Deadline
from muxpilot.tmux.connection.failures import checked, server_is_gone
from muxpilot.tmux.connection.hub_session import FarHub, Hub, is_lonely
from muxpilot.tmux.connection.protocol import Notice, Output, Reply
from muxpilot.tmux.connection.server_options import GUARD, STAY
from muxpilot.tmux.hosts.endpoint import Command, Endpoint
from muxpilot.tmux.hosts.temporary_folder import Scratch
from muxpilot.tmux.quote import literal

Result = TypeVar("Result")

# Takes the records that somebody may not see out of a listing.
Sieve = Callable[[list[Any]], Awaitable[list[Any]]]
_sees_all: ContextVar[bool] = ContextVar("sees_all", default=False)


@contextmanager
def unsifted() -> Iterator[None]:
    """While a name is looked up, so that what is refused can be refused by its own rule."""
    token = _sees_all.set(True)
    try:
        yield
    finally:
        _sees_all.reset(token)


_LAST_TURN_S = 1.5  # a few others may be coming
_BUFFER_S = 10.0
_NEWS_S = 2.0
_RESTART_S = 2.0
_RESTART_PAUSE_S = 0.02


class Connection:
    def __init__(self, endpoint: Endpoint, *, timeout_s: float) -> None:
        self.endpoint = endpoint
        self.timeout_s = timeout_s
        self._scratch: Scratch | None = None
        self._live: Lifeline | None = None
        self._opening: asyncio.Task[Lifeline | None] | None = None
        self._tending: asyncio.Task[None] | None = None
        self._is_restless = False
        self._is_closed = False
        self._is_new_enough = False
        self._listeners: list[Listener] = []
        self.sieve: Sieve | None = None

    @property
    def scratch(self) -> Scratch:
        if self._scratch is None:
            self._scratch = Scratch()
        return self._scratch

    @property
    def server_pid(self) -> int | None:
        """Which server we are connected to; another one has the same ids for other things."""
        return self._live.server_pid if self._live is not None else None

    def is_our_own(self, target: str) -> bool:
        """Whether an id is that of the hub, its window or its pane, which are nobody's to use."""
        return self._live is not None and target in self._live.hub_ids

    def listen(self, listener: Listener) -> None:
        """Be told what tmux tells of its own accord, and `closed` when the connection is lost."""
        self._listeners.append(listener)

    async def run(
        self,
        *commands: Command,
        timeout_s: float | None = None,
        repeatable: bool = False,
        mark: bytes = b"",
    ) -> Reply:
        """Run commands on a server that is there; the first that fails ends the line and is raised."""
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        live = self._live
        if live is None or self._tending is not None or self._is_closed:
            return await self._run_later(commands, limit_s, repeatable=repeatable)
        try:
            return checked(await live.control.request(*commands, timeout_s=limit_s, mark=mark))
        except ConnectionLost:
            if not repeatable:
                raise
        return await self._run_later(commands, limit_s, repeatable=False)

    async def _run_later(self, commands: tuple[Command, ...], limit_s: float, *, repeatable: bool) -> Reply:
        """The same, where the connection has to be made first, or may be about to end."""
        async with self.deadline(limit_s):
            try:
                return checked(await self._through_client(commands))
            except ConnectionLost:
                if not repeatable:
                    raise
                return checked(await self._through_client(commands))

    async def records(
        self, table: formats.Fields, into: Callable[..., Result], *command: str
    ) -> list[Result]:
        """What a listing command prints, as records; of those, what may be seen."""
        rows = await self.every_record(table, into, *command)
        return rows if self.sieve is None or _sees_all.get() else await self.sieve(rows)

    async def every_record(
        self, table: formats.Fields, into: Callable[..., Result], *command: str
    ) -> list[Result]:
        """The same, whatever may be seen."""
        is_escaped = self._live is None or self._live.version >= version.CONTROLS_ARE_ESCAPED
        template = formats.template(table, counted=is_escaped)
        reply = await self.run((*command, "-F", template), repeatable=True, mark=formats.mark_of(template))
        return formats.parse(table, reply.blocks[0].lines, into)

    async def run_first(self, *commands: Command, timeout_s: float | None = None) -> Reply:
        """The same, but a server that is not there is started."""
        async with self.deadline(timeout_s):
            try:
                return checked(await self._through_client(commands))
            except NoServer:
                return checked(await self._start_server(commands))

    async def shell(self, script: str) -> list[str]:
        """Run a line of sh where tmux is; answers what it printed. It must come to its end by itself."""
        # What such a line prints is for people, in a mode of the pane: it comes back by an option.
        option = f"@muxpilot_{secrets.token_hex(8)}"
        tmux = shlex.quote(self.endpoint.binary)
        told = f'muxpilot=$({script}); {tmux} set-option -gq {option} "$muxpilot"; exit 0'
        reply = await self.run(
            ("run-shell", literal(told)),
            ("show-options", "-gqv", option),
            ("set-option", "-gqu", option),
            repeatable=True,
        )
        return [line.decode("utf-8", "replace") for line in reply.blocks[1].lines]

    @asynccontextmanager
    async def changing_buffers(self) -> AsyncIterator[None]:
        """From 3.4 on tmux tells its clients of buffers, and 3.5a crashes if one of them is just arriving."""
        if await self.server_version() < version.BUFFERS_ARE_NEWS:
            yield
            return
        # Not for long: should the connection break just now, the next one waits for this turn to end.
        async with self.deadline(min(self.timeout_s, _BUFFER_S)), self.endpoint.turn():
            yield

    @asynccontextmanager
    async def changing_sessions(self) -> AsyncIterator[None]:
        """tmux tells its clients which sessions come, go and are renamed: none must be just arriving."""
        with suppress(NoServer):
            await self.server_version()  # connected first: that takes a turn too
        if self._live is None:
            yield
            return
        async with self.endpoint.turn(_NEWS_S, is_shared=True):
            yield

    async def server_version(self) -> version.Version:
        async with self.deadline():
            live = await self._connected()
            if live is not None:
                return live.version
            return version.require((await self._alone((("display-message", "-p", "#{version}"),))).first_line)

    async def server_version_text(self) -> str:
        """As tmux says it: `3.3a`."""
        await self.server_version()
        return self._live.version_text if self._live is not None else ""

    async def close(self) -> None:
        """For good: a call that is still under way must not open another connection behind our back."""
        self._is_closed = True
        for task in (self._opening, self._tending):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        if self._live is not None:
            await self._end(self._live)
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None

    def deadline(self, timeout_s: float | None = None) -> Deadline:
        """Whatever is not done in time is given up, and said to be so."""
        return Deadline(self.timeout_s if timeout_s is None else timeout_s)

    async def _through_client(self, commands: tuple[Command, ...]) -> Reply:
        live = await self._connected()
        if live is None:
            return await self._alone(commands)
        return await live.control.request(*commands)

    async def _alone(self, commands: tuple[Command, ...]) -> Reply:
        return await oneshot.run(self.endpoint, commands)

    async def _start_server(self, commands: tuple[Command, ...]) -> Reply:
        """A server that is just ending takes the newcomer down with it: nothing was made, so ask again."""
        await self._require_new_program()
        loop = asyncio.get_running_loop()
        give_up = loop.time() + _RESTART_S
        while True:
            async with self.endpoint.turn():
                reply = await oneshot.run(self.endpoint, (GUARD, *commands, STAY), may_start_server=True)
            if not server_is_gone(reply.error or "") or loop.time() > give_up:
                return reply
            await asyncio.sleep(_RESTART_PAUSE_S)

    async def _require_new_program(self) -> None:
        """An old program fails in words that say nothing of its age; a running server tells its own."""
        if not self._is_new_enough:
            version.require(await oneshot.program_version(self.endpoint))
            self._is_new_enough = True

    async def _connected(self) -> Lifeline | None:
        """The live connection, or None where there is no session to be with."""
        if self._tending is not None:
            await asyncio.wait([self._tending])
        if self._is_closed:  # perhaps meanwhile
            raise ConnectionLost("The connection to tmux was closed.", "Open another.")
        if self._live is not None:
            return self._live
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(self._opened)
        opening = self._opening
        await asyncio.wait([opening])  # others wait for it too
        if opening.cancelled():
            raise ConnectionLost("The connection to tmux was closed.")
        return opening.result()

    def _opened(self, task: asyncio.Task[Lifeline | None]) -> None:
        self._opening = None
        if not task.cancelled():
            task.exception()  # told to whoever waited; nobody may be left

    async def _open(self) -> Lifeline | None:
        """Nothing was asked of tmux yet: where it, or our client, ends just now, it is tried again.

        Callers give up, this does not: a second client beside one that tmux has not let in yet would
        crash 3.3a as soon as it goes on.
        """
        loop = asyncio.get_running_loop()
        begun = loop.time()
        give_up = begun + _RESTART_S
        while True:
            try:
                async with self.endpoint.turn():
                    return await self._open_once(begun)
            except ConnectionLost:
                if loop.time() > give_up:
                    return None  # something throws us out: one process per call is the way that is left
            await asyncio.sleep(_RESTART_PAUSE_S)

    async def _open_once(self, begun: float) -> Lifeline | None:
        self.endpoint.program()  # without one, "no server" would be a guess
        self.endpoint.check()
        hub = FarHub() if self.endpoint.is_far else Hub(self.scratch)
        try:
            live = await Lifeline.to(self.endpoint, hub, self._told, begun)
        except (NoServer, Refused):
            await self._require_new_program()
            raise
        try:
            self._is_restless = False
            if await is_lonely(live.control):
                await live.let_go()
                return None
        except BaseException:
            await live.let_go()
            raise
        self._live = live
        if self._is_restless:  # since it was asked whether we are alone
            self._tend_soon(live)
        return live

    def _told(self, event: Notice | Output) -> None:
        if isinstance(event, Notice) and event.name in ("sessions-changed", "closed"):
            self._is_restless = True
            if self._live is not None:
                self._tend_soon(self._live)
            elif event.name == "closed":
                return  # it was not made yet, or we let go of it ourselves
        for listener in self._listeners:
            listener(event)

    def _tend_soon(self, live: Lifeline) -> None:
        if self._tending is None:
            self._tending = asyncio.create_task(self._tend(live))

    async def _tend(self, live: Lifeline) -> None:
        """Sessions came or went, or the connection broke: go on with it, or let go of it."""
        try:
            while self._is_restless:
                self._is_restless = False
                if await is_lonely(live.control):
                    await self._end(live)
                    return
                await live.step_back()
        except ConnectionLost:
            await self._end(live)
        finally:
            self._tending = None

    async def _end(self, live: Lifeline) -> None:
        if self._live is live:
            self._live = None
        try:
            async with self.endpoint.turn(_LAST_TURN_S):
                await live.let_go()
        finally:  # also when we are cancelled: nobody else knows of it any more
            await live.close()
