"""One call, from its name to its answer. Every tool call and every resource read goes this way.

name -> arguments -> server -> targets to ids -> verdict -> run, under a deadline -> answer -> record
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from muxpilot.errors import MuxpilotError, NotAnswering
from muxpilot.heartbeat import heartbeat
from muxpilot.reading.journals import Journals
from muxpilot.servers import Servers
from muxpilot.tmux import PaneId, SessionId, Tmux, WindowId
from muxpilot.toolkit.answers import Answer, shaped
from muxpilot.toolkit.arguments import checked
from muxpilot.toolkit.context import Caller, Context
from muxpilot.toolkit.spec import DEADLINE_S, Scope, Tool
from muxpilot.watch.registry import Watches

log = logging.getLogger("muxpilot")

_Locks = dict[tuple[str, PaneId], tuple[asyncio.Lock, int]]


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
    request: Request | None = None
    outcome: str = "ok"
    seconds: float = 0.0
    started: float = field(default_factory=time.monotonic)


# The seats of policy and audit: a verdict raises what denies the call.
Verdict = Callable[[Request], None]
Recorder = Callable[[Record], None]


def allow(request: Request) -> None:
    """Everything that is offered is allowed."""


def forget(record: Record) -> None:
    log.debug("%s: %s in %.1f ms", record.name, record.outcome, record.seconds * 1000)


class Dispatch:
    def __init__(
        self,
        tools: Sequence[Tool],
        scope: Scope,
        servers: Servers,
        *,
        also: frozenset[str] = frozenset(),
        verdict: Verdict = allow,
        recorder: Recorder = forget,
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.offered = {tool.name: tool for tool in tools if scope in tool.scopes or tool.name in also}
        self._servers = servers
        self._verdict = verdict
        self._recorder = recorder
        self._journals = Journals()
        self.watches = Watches()
        self._locks: _Locks = {}

    async def call(self, name: str, raw: Mapping[str, Any], caller: Caller | None = None) -> Answer:
        """An answer for everything that a caller can mend; only a name that is not offered is raised."""
        return await self._recorded(name, self.offered.get(name), raw, caller or Caller())

    async def read(self, name: str, raw: Mapping[str, Any]) -> Answer:
        """The same for a resource, whose tool need not be offered to anybody."""
        return await self._recorded(name, self._tools[name], raw, Caller())

    async def _recorded(self, name: str, tool: Tool | None, raw: Mapping[str, Any], caller: Caller) -> Answer:
        record = Record(name)
        try:
            return await self._answer(record, tool, raw, caller)
        finally:
            record.seconds = time.monotonic() - record.started
            self._recorder(record)

    async def close(self) -> None:
        await self.watches.close()
        await self._journals.close()
        await self._servers.close()

    async def _answer(
        self, record: Record, tool: Tool | None, raw: Mapping[str, Any], caller: Caller
    ) -> Answer:
        if tool is None:
            record.outcome = "unknown"
            raise UnknownTool(record.name)
        deadline_s = DEADLINE_S
        try:
            arguments = checked(tool.arguments, raw)
            deadline_s = tool.deadline(arguments)
            quiet = tool.tells_progress
            with nullcontext() if quiet else heartbeat(tool.name, caller, deadline_s):
                async with asyncio.timeout(deadline_s):
                    return await self._run(record, tool, arguments, caller)
        except asyncio.CancelledError:
            record.outcome = "cancelled"
            raise
        except TimeoutError:
            error = NotAnswering(f"{tool.name} did not finish within {deadline_s:g} s.")
            return _failed(record, error)
        except MuxpilotError as error:
            return _failed(record, error)
        except Exception:  # noqa: BLE001 - a mistake of ours: the client gets a number, the log the rest
            return _incident(record)

    async def _run(self, record: Record, tool: Tool, arguments: dict[str, Any], caller: Caller) -> Answer:
        tmux = self._servers.get(arguments.pop("socket"))
        record.request = request = Request(tool, tmux, await _aimed(tool, tmux, arguments))
        self._verdict(request)
        context = Context(tmux, self._servers, self._journals, self._exclusive, caller, self.watches)
        return shaped(await tool.run(context, **request.arguments))

    @asynccontextmanager
    async def _exclusive(self, tmux: Tmux, pane: PaneId) -> AsyncIterator[None]:
        """One at a time per pane, in the order of asking."""
        key = (tmux.socket, pane)
        lock, users = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks.pop(key)
            if users > 1:
                self._locks[key] = (lock, users - 1)


async def _aimed(tool: Tool, tmux: Tmux, arguments: dict[str, Any]) -> dict[str, Any]:
    """Targets as ids, so that what is judged is what is acted on."""
    resolve = {SessionId: tmux.targets.session, WindowId: tmux.targets.window, PaneId: tmux.targets.pane}
    for argument in tool.arguments:
        value = arguments.get(argument.name)
        if argument.kind.target is None or value is None:
            continue
        find = resolve[argument.kind.target]
        if isinstance(value, list):
            arguments[argument.name] = [await find(item) for item in value]
        else:
            arguments[argument.name] = await find(value)
    return arguments


def _failed(record: Record, error: MuxpilotError) -> Answer:
    record.outcome = error.code
    return Answer(str(error), error=error.code)


def _incident(record: Record) -> Answer:
    number = secrets.token_hex(4)
    record.outcome = "incident"
    log.exception("incident %s in %s", number, record.name)
    return Answer(
        f"{record.name} failed by a fault of muxpilot (incident {number}). Its log on stderr tells more.",
        error=record.outcome,
    )
