"""Resources: addresses such as tmux://pane/%3. Reading one is a call of the tool that its row names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import unquote

from muxpilot.calls import Caller
from muxpilot.errors import Ambiguous, BadInput, MuxpilotError, NoServer, NotFound
from muxpilot.records import record
from muxpilot.tasks import TaskSet
from muxpilot.terminal.sanitize import sanitize_text
from muxpilot.tmux import ListedPane, PaneId, Tmux, Window
from muxpilot.tmux.connection.protocol import Notification, PaneOutput
from muxpilot.tmux.servers import TmuxServers
from muxpilot.toolkit.answers import Answer
from muxpilot.toolkit.resource_rows import CompletionRow, LiveEntry, ResourceRow
from muxpilot.trace import area

# Errors that mean that nothing is there, also if no tmux runs. All others mean "could not ask".
_MISSING = frozenset(error.code for error in (NotFound, BadInput, Ambiguous, NoServer))

# Changes are collected for this long before the next notification.
_PAUSE_S = 0.1
_DEAD_PAUSE_S = 1.0

# After these notifications the list may differ. tmux sends the last one for panes that are split off in
# sessions without an attached client.
_LIST_CHANGES = frozenset(
    "sessions-changed window-add window-close unlinked-window-add unlinked-window-close closed "
    "subscription-changed".split()
)

Notify = Callable[[], Awaitable[None]]
Stop = Callable[[], object]

trace = area("calls")


@record
class ResourceEntry:
    """One resource in the list."""

    uri: str
    name: str
    mime: str
    description: str


class LiveSource(Protocol):
    """Objects with ids that muxpilot itself keeps: commands, watches."""

    def entries(self) -> Iterable[LiveEntry]:
        """Yield an entry for each."""

    async def changes(self, item: str) -> AsyncIterator[None]:
        """Return what yields at each change until the last one. Raise NotFound for an unknown id."""


class ResourceCalls(Protocol):
    """Interface of dispatch for resources: every read is a call of a tool."""

    async def read(
        self, name: str, raw: Mapping[str, Any], uri: str | None = None, caller: Caller | None = None
    ) -> Answer:
        """Run the tool that reads a resource."""

    async def check_read(self, name: str, raw: Mapping[str, Any]) -> None:
        """Raise the error that would refuse a read."""

    async def may_read(self, name: str, **raw: Any) -> bool:
        """Return whether the policy allows a read."""

    async def may_reach(self, name: str, tmux: Tmux, pane: PaneId) -> bool:
        """Return whether the policy lets a tool reach a pane."""

    async def resolve_pane(self, tmux: Tmux, target: str) -> PaneId:
        """Return the pane that an id, a name or a target means."""

    def is_tool_open(self, name: str) -> bool:
        """Return whether the policy allows some calls of a tool."""

    def record_unknown_resource(self, uri: str) -> None:
        """Record a read of an address that no resource has."""


class ResourceFailed(Exception):
    """Nothing is at this address (`is_missing`), or it could not be read. Each has its own error code."""

    def __init__(self, words: str, *, is_missing: bool = True) -> None:
        super().__init__(words)
        self.is_missing = is_missing


class Resources:
    """Reads, lists and follows resources. `live` maps the variable of an address to the source of its ids."""

    def __init__(
        self,
        dispatch: ResourceCalls,
        servers: TmuxServers,
        rows: Sequence[ResourceRow],
        live: Mapping[str, LiveSource],
        completions: Sequence[CompletionRow] = (),
    ) -> None:
        self.rows = rows
        self._completions = {row.variable: row for row in completions}
        self._dispatch = dispatch
        self._servers = servers
        self._live = live
        self._tasks = TaskSet(trace)
        self._list_watcher = _ListWatcher(self.list, servers)

    async def read(self, uri: str, caller: Caller | None = None) -> tuple[str, str]:
        """Return the mime type and the text of a resource. `caller` is the client that reads it."""
        try:
            row, arguments = self._find(uri)
        except ResourceFailed:
            self._dispatch.record_unknown_resource(uri)
            raise
        answer = await self._dispatch.read(row.tool, arguments, uri, caller)
        if answer.error is not None:
            raise ResourceFailed(answer.text, is_missing=answer.error in _MISSING)
        return row.mime, answer.text

    async def list(self) -> Sequence[ResourceEntry]:
        """Return all resources. Where no tmux runs, only those with a fixed address and those of muxpilot."""
        plain = [row for row in self.rows if row.variable is None]
        if not await self._dispatch.may_read(plain[0].tool):  # the server itself may be out of reach
            return []
        entries = [_entry(row, row.template, row.title) for row in plain if self._is_listed(row)]
        for variable, source in self._live.items():
            for row in self._listed_rows(variable):
                entries += [
                    _entry(row, _fill(row, item.id), item.title)
                    for item in list(source.entries())
                    if await self._may_list(row, item)
                ]
        tmux = self._servers.default
        try:
            windows, panes = await asyncio.gather(tmux.windows.list(), tmux.panes.list())
        except NoServer:
            return entries
        sessions = {row.session_id: row.session_name for row in windows}
        named = {row.id: row.name for row in windows}
        return [
            *entries,
            *await self._list_readable("sessionId", "Session", sessions.items()),
            *await self._list_readable("windowId", "Window", named.items()),
            *self._panes(windows, panes),
        ]

    async def list_values(self, variable: str) -> Sequence[str]:
        """Return the values of a variable that the policy lets a client see, for completion."""
        row = self._completions.get(variable)
        if row is None or not self._dispatch.is_tool_open(row.tool):
            return []
        answer = await self._dispatch.read(row.tool, {})
        if answer.error == NoServer.code:
            return []
        if answer.error is not None or answer.structured is None:
            raise ResourceFailed(answer.text, is_missing=False)
        rows = answer.structured[row.rows]
        found = (str(each[field]) for field in row.fields for each in rows if each.get(field) is not None)
        return list(dict.fromkeys(found))

    async def _may_list(self, row: ResourceRow, item: LiveEntry) -> bool:
        """Return whether a client may read an object, of another muxpilot too."""
        if item.is_asked_here:
            return True
        return item.tmux is not None and await self._dispatch.may_reach(row.tool, item.tmux, item.pane)

    async def _list_readable(
        self, variable: str, noun: str, names: Iterable[tuple[str, str]]
    ) -> Sequence[ResourceEntry]:
        """Return the resources of those objects, given by id and name, that the policy lets a client read."""
        return [
            _entry(row, _fill(row, identity), f"{noun} {sanitize_text(name)}")
            for row in self._listed_rows(variable)
            for identity, name in names
            if await self._dispatch.may_read(row.tool, **{variable: identity})
        ]

    def _panes(self, windows: Sequence[Window], panes: Sequence[ListedPane]) -> Sequence[ResourceEntry]:
        sessions = {row.session_id: row.session_name for row in windows}
        entries = []
        for pane in {row.id: row for row in panes}.values():
            session = sessions.get(pane.session_id, pane.session_id)
            name = sanitize_text(f"Pane {pane.id} of {session}: {pane.current_command}")
            for row in self._listed_rows("paneId"):
                title = f"{name} (facts)" if row.template.endswith("/info") else name
                entries.append(_entry(row, _fill(row, _encode_pane(pane.id)), title))
        return entries

    def _listed_rows(self, variable: str) -> Sequence[ResourceRow]:
        """Return the rows that have this variable and no other. Tails of panes are not listed."""
        rows = (row for row in self.rows if row.variable == variable and row.template.count("{") == 1)
        return [row for row in rows if self._is_listed(row)]

    def _is_listed(self, row: ResourceRow) -> bool:
        is_open = self._dispatch.is_tool_open
        return is_open(row.tool) and is_open(row.lister or row.tool)

    async def follow(self, uri: str, notify: Notify) -> Stop:
        """Call `notify` after each change of a resource, until the pane is gone or the result is called."""
        row, arguments = self._find(uri)
        try:
            await self._dispatch.check_read(row.tool, arguments)
        except MuxpilotError as error:
            raise ResourceFailed(str(error), is_missing=error.code in _MISSING) from None
        ready = asyncio.Event()
        variable = row.variable or ""
        if variable == "paneId":
            work = self._follow_pane(str(arguments[variable]), ready, notify)
        elif variable in self._live:
            work = self._follow_live(self._live[variable], str(arguments[variable]), ready, notify)
        else:
            raise ResourceFailed(f"{uri} cannot be followed. Subscribe to a pane, such as tmux://pane/%3.")
        return await self._start(uri, work, ready)

    async def _start(self, uri: str, work: Awaitable[None], ready: asyncio.Event) -> Stop:
        """Start to follow. Raise the error that prevents it."""
        failures: list[MuxpilotError] = []

        async def follow() -> None:
            """Follow until the end. Keep an error for the caller that waits for `ready`."""
            try:
                await work
            except MuxpilotError as error:
                trace.debug("following ends", uri=uri, error=error.code)
                failures.append(error)
            finally:
                ready.set()

        task = self._tasks.start(follow(), name=f"follow {uri[:80]}")
        try:
            await ready.wait()
        except BaseException:
            task.cancel()
            raise
        if failures:
            raise ResourceFailed(str(failures[0]), is_missing=failures[0].code in _MISSING)
        if task.done():
            task.result()
        return task.cancel

    async def _follow_pane(self, target: str, ready: asyncio.Event, notify: Notify) -> None:
        tmux = self._servers.default
        pane = await tmux.panes.get(await self._dispatch.resolve_pane(tmux, target))
        while True:
            async with tmux.streams.open(pane.id) as stream:
                if ready.is_set():
                    await notify()  # a new program, which may have printed something already
                ready.set()
                async for _ in stream.follow():
                    await notify()
                    await asyncio.sleep(_PAUSE_S)
            # Another program may be started in the pane, at once or later. tmux sends no event for that.
            while (await tmux.panes.get(pane.id)).is_dead:  # noqa: ASYNC110 - no event
                await asyncio.sleep(_DEAD_PAUSE_S)

    async def _follow_live(self, source: LiveSource, item: str, ready: asyncio.Event, notify: Notify) -> None:
        changes = await source.changes(item)
        ready.set()
        async for _ in changes:
            await notify()
            await asyncio.sleep(_PAUSE_S)

    async def follow_list(self, notify: Notify) -> Stop:
        """Call `notify` when sessions or windows of the default server come and go, until stopped."""
        return await self._list_watcher.add(notify)

    async def close(self) -> None:
        """Stop following."""
        await asyncio.gather(self._tasks.close(), self._list_watcher.close())

    def _find(self, uri: str) -> tuple[ResourceRow, dict[str, object]]:
        for row in self.rows:
            found = row.match(uri)
            if found is not None:
                values = {name: _decode_value(name, text) for name, text in found.items()}
                return row, {**values, **dict(row.fixed)}
        raise ResourceFailed(f"There is no resource {uri!r}.")


class _ListWatcher:
    """Notices changes of the list. tmux also notifies of changes that do not matter, such as our own
    connection: so the list itself is compared."""

    def __init__(
        self, list_now: Callable[[], Awaitable[Sequence[ResourceEntry]]], servers: TmuxServers
    ) -> None:
        self._list_now = list_now
        self._servers = servers
        self._followers: list[Notify] = []
        self._known: frozenset[str] | None = None
        self._may_differ = asyncio.Event()
        self._tasks = TaskSet(trace)

    async def add(self, notify: Notify) -> Stop:
        """Call `notify` after each change of the list, until the result is called."""
        self._followers.append(notify)
        if not len(self._tasks):
            self._tasks.start(self._watch(), name="watch the list of resources")
            self._servers.default.connection.add_listener(self._on_notification)
            self._known = await self._addresses()
        return lambda: self._followers.remove(notify)

    async def close(self) -> None:
        await self._tasks.close()

    def _on_notification(self, event: Notification | PaneOutput) -> None:
        if isinstance(event, Notification) and event.name in _LIST_CHANGES:
            self._may_differ.set()

    async def _watch(self) -> None:
        while True:
            await self._may_differ.wait()
            await asyncio.sleep(_PAUSE_S)
            self._may_differ.clear()
            known, self._known = self._known, await self._addresses()
            if self._known is None or self._known != known:
                for notify in tuple(self._followers):
                    await notify()

    async def _addresses(self) -> frozenset[str] | None:
        """Return all addresses, or None if tmux could not be asked."""
        try:
            return frozenset(entry.uri for entry in await self._list_now())
        except MuxpilotError:
            return None


def _decode_value(name: str, text: str) -> object:
    """Decode a part of an address. `%3` and `%253` are both pane %3, and `%25253` is pane %253.

    `%25` alone is pane %25.
    """
    if name == "lines":
        return int(text) if text.isascii() and text.isdigit() else text
    is_raw = PaneId.matches(text) and (not text.startswith("%25") or text == "%25")
    return text if name == "paneId" and is_raw else unquote(text)


def _encode_pane(pane: PaneId) -> str:
    """Return a pane's id as an address must spell it: a lone percent sign is not allowed there."""
    return pane.replace("%", "%25", 1)


def _entry(row: ResourceRow, uri: str, name: str) -> ResourceEntry:
    return ResourceEntry(uri, name, row.mime, row.description)


def _fill(row: ResourceRow, value: str) -> str:
    return row.template.replace(f"{{{row.variable}}}", value)
