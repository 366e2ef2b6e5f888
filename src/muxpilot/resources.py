"""Resources: addresses of what the reading tools tell. Each is a row; reading one is a call of its tool."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import unquote

from muxpilot.dispatch import Dispatch
from muxpilot.errors import Ambiguous, BadInput, MuxpilotError, NoServer, NotFound
from muxpilot.records import record
from muxpilot.tmux import PaneId
from muxpilot.tmux.connection.protocol import Notice, Output
from muxpilot.tmux.servers import Servers
from muxpilot.toolkit.sanitize import visible

JSON = "application/json"
TEXT = "text/plain"

# Faults that mean that nothing is there; where no tmux runs, there is nothing. Others mean "could not ask".
_MISSING = frozenset(fault.code for fault in (NotFound, BadInput, Ambiguous, NoServer))

# How long changes are gathered before the next is told.
_PAUSE_S = 0.1
_DEAD_PAUSE_S = 1.0
_QUIET_S = 60.0

# After these the list may be another one; the last tells of panes split off where nobody is attached.
_LIST_CHANGES = frozenset(
    "sessions-changed window-add window-close unlinked-window-add unlinked-window-close closed "
    "subscription-changed".split()
)

Tell = Callable[[], Awaitable[None]]
Stop = Callable[[], object]


@record
class Row:
    """One kind of resource: its address, the tool that reads it, and what of the address it gets.

    `lister`: the tool that lists such things, where the reader's being open does not mean that it is."""

    template: str
    tool: str
    title: str
    mime: str
    fixed: tuple[tuple[str, object], ...] = ()
    lister: str | None = None

    def match(self, uri: str) -> dict[str, str] | None:
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(self.template))
        found = re.fullmatch(pattern, uri)
        return found.groupdict() if found else None


ROWS = (
    Row("tmux://server/info", "server-info", "The tmux server", JSON),
    Row("tmux://sessions", "list-sessions", "Sessions", JSON),
    Row("tmux://clients", "list-clients", "People who look on", JSON),
    Row("tmux://pane/{paneId}", "capture-pane", "What a pane shows", TEXT, lister="list-panes"),
    Row("tmux://pane/{paneId}/info", "pane-info", "A pane", JSON),
    Row("tmux://pane/{paneId}/tail/{lines}", "capture-pane", "The last lines of a pane", TEXT),
    Row(
        "tmux://pane/{paneId}/tail/{lines}/ansi",
        "capture-pane",
        "The last lines of a pane, with colours",
        TEXT,
        (("colors", True),),
    ),
    Row("tmux://window/{windowId}/info", "window-info", "A window", JSON),
    Row("tmux://session/{sessionId}/tree", "session-tree", "A session's windows and panes", JSON),
    Row(
        "tmux://command/{commandId}/result",
        "command-result",
        "What a command did",
        JSON,
        lister="list-commands",
    ),
    Row("tmux://watch/{watchId}", "get-watch", "How a watch stands", JSON),
)


@record
class Entry:
    uri: str
    name: str
    mime: str


class ResourceFailed(Exception):
    """There is nothing at this address, or it could not be asked for: two faults, with their own codes."""

    def __init__(self, words: str, *, is_missing: bool = True) -> None:
        super().__init__(words)
        self.is_missing = is_missing


class Resources:
    def __init__(self, dispatch: Dispatch, servers: Servers) -> None:
        self._dispatch = dispatch
        self._servers = servers
        self._following: set[asyncio.Task[None]] = set()
        self._list = _ListWatch(self.list, servers)

    async def read(self, uri: str) -> tuple[str, str]:
        """The mime type and the text behind an address."""
        try:
            row, arguments = _find(uri)
        except ResourceFailed:
            self._dispatch.missed(uri)
            raise
        answer = await self._dispatch.read(row.tool, arguments, uri)
        if answer.error is not None:
            raise ResourceFailed(answer.text, is_missing=answer.error in _MISSING)
        return row.mime, answer.text

    async def list(self) -> Sequence[Entry]:
        """What there is now; where no tmux runs, only the addresses that are always good."""
        tmux = self._servers.default
        if not await self._dispatch.is_open("server-info"):
            return []
        is_open = self._dispatch.is_readable
        shown = {row.template for row in ROWS if is_open(row.tool) and is_open(row.lister or row.tool)}
        entries = [
            Entry(row.template, row.title, row.mime)
            for row in ROWS
            if "{" not in row.template and row.template in shown
        ]
        for kept in self._dispatch.watches.kept if "tmux://watch/{watchId}" in shown else ():
            entries.append(Entry(f"tmux://watch/{kept.id}", f"Watch of pane {kept.plan.pane}", JSON))
        tells_results = "tmux://command/{commandId}/result" in shown
        for command in self._dispatch.shells.commands() if tells_results else ():
            name = f"Command in pane {command.pane}: {command.text[:40]}"
            entries.append(Entry(f"tmux://command/{command.id}/result", name, JSON))
        try:
            windows, panes = await asyncio.gather(tmux.windows.list(), tmux.panes.list())
        except NoServer:
            return entries
        sessions = {row.session_id: row.session_name for row in windows}
        for session, name in sessions.items() if "tmux://session/{sessionId}/tree" in shown else ():
            if await self._dispatch.is_open("session-tree", sessionId=session):
                entries.append(Entry(f"tmux://session/{session}/tree", f"Session {visible(name)}", JSON))
        is_shown = "tmux://window/{windowId}/info" in shown
        for window in {row.id: row for row in windows}.values() if is_shown else ():
            if await self._dispatch.is_open("window-info", windowId=window.id):
                entries.append(
                    Entry(f"tmux://window/{window.id}/info", f"Window {visible(window.name)}", JSON)
                )
        for pane in {row.id: row for row in panes}.values():
            session_name = sessions.get(pane.session_id, pane.session_id)
            name = visible(f"Pane {pane.id} of {session_name}: {pane.current_command}")
            if "tmux://pane/{paneId}" in shown:
                entries.append(Entry(_address(pane.id), name, TEXT))
            if "tmux://pane/{paneId}/info" in shown:
                entries.append(Entry(f"{_address(pane.id)}/info", f"{name} (facts)", JSON))
        return entries

    async def follow(self, uri: str, changed: Tell) -> Stop:
        """Tell of every change behind an address, until the pane is gone or until it is stopped."""
        row, arguments = _find(uri)
        try:
            await self._dispatch.permit(row.tool, arguments)
        except MuxpilotError as error:
            raise ResourceFailed(str(error), is_missing=error.code in _MISSING) from None
        ready = asyncio.Event()
        if "paneId" in arguments:
            work = self._follow(str(arguments["paneId"]), ready, changed)
        elif "watchId" in arguments:
            work = self._follow_watch(str(arguments["watchId"]), ready, changed)
        elif "commandId" in arguments:
            work = self._follow_command(str(arguments["commandId"]), ready, changed)
        else:
            raise ResourceFailed(f"{uri} cannot be followed. Subscribe to a pane, such as tmux://pane/%3.")
        task = asyncio.create_task(work)
        self._following.add(task)
        task.add_done_callback(self._following.discard)
        task.add_done_callback(lambda _: ready.set())
        try:
            await ready.wait()
            if task.done():
                task.result()  # what kept it from beginning is told here
        except MuxpilotError as error:
            raise ResourceFailed(str(error), is_missing=error.code in _MISSING) from None
        except BaseException:
            task.cancel()
            raise
        return task.cancel

    async def _follow(self, target: str, ready: asyncio.Event, changed: Tell) -> None:
        tmux = self._servers.default
        pane = await tmux.panes.get(await tmux.targets.pane(target))
        while True:
            async with tmux.streams.open(pane.id) as stream:
                if ready.is_set():
                    await changed()  # another program, which may have printed something already
                ready.set()
                async for _ in stream.follow():
                    await changed()
                    await asyncio.sleep(_PAUSE_S)
            # Another program may be started in it, at once or later.
            while (await tmux.panes.get(pane.id)).is_dead:  # noqa: ASYNC110 - tmux tells nobody of it
                await asyncio.sleep(_DEAD_PAUSE_S)

    async def _follow_watch(self, watch: str, ready: asyncio.Event, changed: Tell) -> None:
        """It changes once: when it ends. Who comes after that is told at once."""
        kept = self._dispatch.watches.get(watch)
        ready.set()
        await kept.ended.wait()
        await changed()

    async def _follow_command(self, command_id: str, ready: asyncio.Event, changed: Tell) -> None:
        """Whatever it prints or comes to, until it has ended."""
        command = self._dispatch.shells.command(command_id)
        ready.set()
        while not command.status.is_final:
            known = command.changes
            await command.change(_QUIET_S, since=known)
            if command.changes != known:
                await changed()
                await asyncio.sleep(_PAUSE_S)
        await changed()

    async def follow_list(self, changed: Tell) -> Stop:
        """Tell when sessions or windows of the default server come and go, until stopped."""
        return await self._list.add(changed)

    async def close(self) -> None:
        tasks = {*self._following, *self._list.tasks()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


class _ListWatch:
    """tmux tells of more than comes and goes, our own connection included: what counts is the list itself."""

    def __init__(self, list_now: Callable[[], Awaitable[Sequence[Entry]]], servers: Servers) -> None:
        self._list_now = list_now
        self._servers = servers
        self._watchers: list[Tell] = []
        self._known: frozenset[str] | None = None
        self._doubt = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def tasks(self) -> list[asyncio.Task[None]]:
        return [self._task] if self._task is not None else []

    async def add(self, changed: Tell) -> Stop:
        self._watchers.append(changed)
        if self._task is None:
            self._task = asyncio.create_task(self._watch())
            self._servers.default.connection.listen(self._told)
            self._known = await self._addresses()
        return lambda: self._watchers.remove(changed)

    def _told(self, event: Notice | Output) -> None:
        if isinstance(event, Notice) and event.name in _LIST_CHANGES:
            self._doubt.set()

    async def _watch(self) -> None:
        while True:
            await self._doubt.wait()
            await asyncio.sleep(_PAUSE_S)
            self._doubt.clear()
            known, self._known = self._known, await self._addresses()
            if self._known is None or self._known != known:
                for changed in tuple(self._watchers):
                    await changed()

    async def _addresses(self) -> frozenset[str] | None:
        """None where tmux could not be asked."""
        try:
            return frozenset(entry.uri for entry in await self._list_now())
        except MuxpilotError:
            return None


def _find(uri: str) -> tuple[Row, dict[str, object]]:
    for row in ROWS:
        found = row.match(uri)
        if found is not None:
            return row, {**{name: _value(name, text) for name, text in found.items()}, **dict(row.fixed)}
    raise ResourceFailed(f"There is no resource {uri!r}.")


def _value(name: str, text: str) -> object:
    """`%3` and `%253` are both pane %3, and `%25253` is pane 253; `%25` alone encodes nothing."""
    if name == "lines":
        return int(text) if text.isascii() and text.isdigit() else text
    is_raw = PaneId.matches(text) and (not text.startswith("%25") or text == "%25")
    return text if name == "paneId" and is_raw else unquote(text)


def _address(pane: PaneId) -> str:
    return f"tmux://pane/{pane.replace('%25', '%2525', 1) if len(pane) > 3 else pane}"
