"""One call, from its name to its answer. Every tool call and every resource read goes this way.

name -> open? -> arguments -> server -> targets to ids -> verdict -> run, under a deadline -> answer -> record
"""

from __future__ import annotations

import asyncio
import functools
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from muxpilot.call_progress import heartbeat
from muxpilot.config.scope import Scope
from muxpilot.errors import Denied, MuxpilotError, NotAnswering, NotFound
from muxpilot.reading.pane_cursor import Journals
from muxpilot.record.recordings import Recordings
from muxpilot.shells.command_registry import Shells
from muxpilot.shells.pane_shell import Exclusive
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.connection.connection import unsifted
from muxpilot.tmux.servers import Servers
from muxpilot.toolkit.answers import Answer, shaped
from muxpilot.toolkit.arguments import checked
from muxpilot.toolkit.context import Caller, Context
from muxpilot.toolkit.sanitize import seen, tells_of_panes
from muxpilot.toolkit.spec import DEADLINE_S, Effect, Tool
from muxpilot.watch.limits import Limits
from muxpilot.watch.registry import Watches

log = logging.getLogger("muxpilot")

_Locks = dict[tuple[str, PaneId, str], tuple[asyncio.Lock, int]]


class UnknownTool(Exception):
    """No tool of this name is offered; a fault of the protocol, not of a call."""


@dataclass(slots=True)
class Request:
    """A call that is known, checked and aimed: what a verdict judges and a record keeps."""

    tool: Tool
    tmux: Tmux
    arguments: dict[str, Any]


@dataclass(slots=True)
class Record:
    """What became of a call."""

    name: str
    raw: Mapping[str, Any] = field(default_factory=dict)
    uri: str | None = None
    request: Request | None = None
    outcome: str = "ok"
    answer: Answer | None = None
    is_secret: bool = False
    made_by: str | None = None
    seconds: float = 0.0
    started: float = field(default_factory=time.monotonic)


class Judge(Protocol):
    """The seat of the policy: what denies a call is raised."""

    @property
    def narrows(self) -> bool:
        """Whether some servers, sessions or panes are not to be reached."""

    def closes(self, name: str) -> bool:
        """Whether a tool is closed to everybody, so that it is not even listed."""

    def admit(self, tool: Tool) -> None:
        """Before its arguments are looked at."""

    def gate(self, tool: Tool, tmux: Tmux) -> None:
        """Before anything is asked of that server."""

    async def judge(self, tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]) -> None:
        """Before anything is done; targets are ids by now."""


class Recorder(Protocol):
    """The seat of the audit."""

    async def look(self, record: Record) -> None:
        """Before the call: some things can only be seen then."""

    def write(self, record: Record) -> None:
        """After it, whatever became of it."""


class Everything:
    """A policy that allows all, and an audit that keeps nothing."""

    narrows = False

    def closes(self, name: str) -> bool:
        return False

    def admit(self, tool: Tool) -> None:
        pass

    def gate(self, tool: Tool, tmux: Tmux) -> None:
        pass

    async def judge(self, tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]) -> None:
        pass

    async def look(self, record: Record) -> None:
        pass

    def write(self, record: Record) -> None:
        log.debug("%s: %s in %.1f ms", record.name, record.outcome, record.seconds * 1000)


class Dispatch:
    def __init__(
        self,
        tools: Sequence[Tool],
        scope: Scope,
        servers: Servers,
        *,
        also: frozenset[str] = frozenset(),
        judge: Judge | None = None,
        recorder: Recorder | None = None,
        buffer_paths: tuple[str, ...] | None = None,
        shells: Callable[[Exclusive], Shells] = Shells,
        limits: Limits | None = None,
    ) -> None:
        self._tools = {tool.exposed: tool for tool in tools}
        self._judge = judge or Everything()
        self._recorder = recorder or Everything()
        self._in_scope = {tool.exposed: tool for tool in tools if scope in tool.scopes or tool.name in also}
        closes = self._judge.closes
        self.offered = {name: tool for name, tool in self._in_scope.items() if tool.is_open(closes)}
        self._servers = servers
        self._buffer_paths = buffer_paths
        self._recordings = Recordings()
        self._journals = Journals()
        self.watches = Watches(limits=limits)
        self.shells = shells(self._exclusive)
        self._locks: _Locks = {}
        self._order = asyncio.Lock()

    async def call(self, name: str, raw: Mapping[str, Any], caller: Caller | None = None) -> Answer:
        """An answer for everything that a caller can mend; only a name that is not offered is raised."""
        found = self._in_scope.get(name)
        tool = found.chosen(raw) if found is not None else None
        record = Record(tool.logged if tool is not None else name, raw)
        return await self._recorded(record, tool, caller or Caller())

    async def read(self, name: str, raw: Mapping[str, Any], uri: str | None = None) -> Answer:
        """The same for a resource, whose tool need not be offered to anybody."""
        return await self._recorded(Record(name, raw, uri), self._tools[name], Caller())

    async def permit(self, name: str, raw: Mapping[str, Any]) -> None:
        """Raise what would deny a read, and do nothing."""
        tool = self._tools[name].chosen(raw)
        await self._allowed(tool, self._checked(tool, raw))

    async def foresee(self, name: str, raw: Mapping[str, Any]) -> tuple[Request, Sequence[MuxpilotError]]:
        """A call as it would be made, and what it would meet in itself; what denies it is raised."""
        tool = self._tools[name].chosen(raw)
        arguments = self._checked(tool, raw)
        names_server = arguments.get("socket") is not None
        request = await self._allowed(tool, arguments)
        if tool.foresees is None:
            return request, ()
        context = self._context(request, Caller(), names_server=names_server)
        return request, await tool.foresees(context, **request.arguments)

    def native(self, name: str, raw: Mapping[str, Any]) -> str:
        """The name by which the policy knows the tool that a call is about."""
        tool = self._in_scope.get(name)
        return tool.chosen(raw).name if tool is not None else name

    def missed(self, uri: str) -> None:
        """Record a read of what is no resource."""
        self._recorder.write(Record("resource", uri=uri, outcome="unknown"))

    def is_readable(self, name: str) -> bool:
        return not self._judge.closes(name)

    async def is_open(self, name: str, **raw: Any) -> bool:
        """Whether a read would be allowed; asked only where there are rules of places."""
        if not self._judge.narrows:
            return True
        try:
            await self.permit(name, raw)
        except (Denied, NotFound):
            return False
        return True

    async def _recorded(self, record: Record, tool: Tool | None, caller: Caller) -> Answer:
        try:
            record.answer = await self._answer(record, tool, caller)
            return record.answer
        finally:
            record.seconds = time.monotonic() - record.started
            self._recorder.write(record)

    async def close(self) -> None:
        await self.watches.close()
        await self._recordings.close()
        await self.shells.close()
        await self._journals.close()
        await self._servers.close()

    async def _answer(self, record: Record, tool: Tool | None, caller: Caller) -> Answer:
        if tool is None:
            record.outcome = "unknown"
            raise UnknownTool(record.name)
        deadline_s = DEADLINE_S
        try:
            arguments = self._checked(tool, record.raw)
            deadline_s = tool.deadline(arguments)
            quiet = tool.tells_progress
            with nullcontext() if quiet else heartbeat(tool.exposed, caller, deadline_s):
                async with asyncio.timeout(deadline_s), self._order if tool.in_order else nullcontext():
                    return await self._run(record, tool, arguments, caller)
        except asyncio.CancelledError:
            record.outcome = "cancelled"
            raise
        except TimeoutError:
            error = NotAnswering(f"{tool.exposed} did not finish within {deadline_s:g} s.")
            return _failed(record, tool, error)
        except MuxpilotError as error:
            return _failed(record, tool, error)
        except Exception:  # noqa: BLE001 - a mistake of ours must not end the server
            record.outcome = "incident"
            return Answer(incident(record.name), error=record.outcome)

    async def _run(self, record: Record, tool: Tool, arguments: dict[str, Any], caller: Caller) -> Answer:
        names_server = arguments.get("socket") is not None
        request = await self._aimed(tool, arguments)
        async with self._in_turn(request):
            record.request = request
            try:
                await self._judge.judge(tool, request.tmux, request.arguments)
            except MuxpilotError:
                await self._recorder.look(record)  # what is refused may be a secret too
                raise
            await self._recorder.look(record)
        # Nothing comes between this and the tool's own place in the queue of the pane.
        context = self._context(request, caller, names_server=names_server)
        answer = shaped(await tool.run(context, **request.arguments))
        if not tells_of_panes(tool.name, tool.group):
            return answer
        return seen(answer, colors=bool(request.arguments.get("colors")))

    def _context(self, request: Request, caller: Caller, *, names_server: bool) -> Context:
        return Context(
            *(
                request.tmux,
                self._servers,
                self._journals,
                self._exclusive,
                self.shells,
                caller,
                self.watches,
            ),
            recordings=self._recordings,
            buffer_paths=self._buffer_paths,
            names_server=names_server,
            permit=functools.partial(self._permit, request.tool),
        )

    def _checked(self, tool: Tool, raw: Mapping[str, Any]) -> dict[str, Any]:
        """A tool that is closed is refused as such, whatever its arguments are."""
        self._judge.admit(tool)
        return checked(tool.arguments, raw)

    async def _allowed(self, tool: Tool, arguments: dict[str, Any]) -> Request:
        request = await self._aimed(tool, arguments)
        await self._judge.judge(tool, request.tmux, request.arguments)
        return request

    async def _aimed(self, tool: Tool, arguments: dict[str, Any]) -> Request:
        tmux = self._servers.get(arguments.pop("socket", None))
        self._judge.gate(tool, tmux)
        with unsifted():
            return Request(tool, tmux, await tool.resolve_targets(tmux, arguments))

    async def _permit(self, tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]) -> None:
        """For a part of a call; one that is denied has a record of its own."""
        try:
            self._judge.gate(tool, tmux)
            await self._judge.judge(tool, tmux, arguments)
        except Denied as error:
            given = {row.wire: arguments[row.name] for row in tool.arguments if row.name in arguments}
            pane = {"paneId": arguments["pane_id"]} if "pane_id" in arguments else {}
            record = Record(tool.logged, {"socket": tmux.socket, **pane, **given})
            record.answer = _failed(record, tool, error)
            self._recorder.write(record)
            raise

    def _in_turn(self, request: Request) -> AbstractAsyncContextManager[None]:
        """What types is judged in the order of asking: a short text must not overtake a long one."""
        pane = request.arguments.get("pane_id")
        if request.tool.effect is not Effect.TYPE or not isinstance(pane, PaneId):
            return nullcontext()
        return self._alone((request.tmux.socket, pane, "judged"))

    def _exclusive(self, tmux: Tmux, pane: PaneId) -> AbstractAsyncContextManager[None]:
        return self._alone((tmux.socket, pane, "typed"))

    @asynccontextmanager
    async def _alone(self, key: tuple[str, PaneId, str]) -> AsyncIterator[None]:
        """One at a time per pane, in the order of asking."""
        lock, users = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks.pop(key)
            if users > 1:
                self._locks[key] = (lock, users - 1)


def _failed(record: Record, tool: Tool, error: MuxpilotError) -> Answer:
    record.outcome = error.code
    return Answer(tool.told(error), error=error.code)


def incident(where: str) -> str:
    """A mistake of ours: the client gets a number, the log the rest."""
    number = secrets.token_hex(4)
    log.exception("incident %s in %s", number, where)
    return f"{where} failed by a fault of muxpilot (incident {number}). Its log on stderr tells more."
