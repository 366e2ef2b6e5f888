"""Resources: the table of addresses, tools that only resources use, and sources of commands and watches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from muxpilot.errors import NoServer
from muxpilot.records import record
from muxpilot.shells.command import Command
from muxpilot.shells.command_registry import CommandRegistry
from muxpilot.tmux import PaneId, SessionId, WindowId
from muxpilot.tmux.servers import TmuxServers
from muxpilot.toolkit.resource_rows import JSON, TEXT, CompletionRow, LiveEntry, ResourceRow
from muxpilot.toolkit.resource_uris import COMMAND_RESULT
from muxpilot.toolkit.rows import PaneRow, SessionRow, WindowRow
from muxpilot.toolkit.spec import INTERNAL, Effect, tool
from muxpilot.tools.context import Context
from muxpilot.watch.background_watch import BackgroundWatch
from muxpilot.watch.registry import WatchRegistry

_LONGEST_WAIT_S = 60.0

RESOURCES = (
    ResourceRow(
        "tmux://server/info", "server-info", "The tmux server", JSON, "Socket, host and version of tmux"
    ),
    ResourceRow("tmux://sessions", "list-sessions", "Sessions", JSON, "All sessions"),
    ResourceRow("tmux://clients", "list-clients", "Attached clients", JSON, "The terminals of people"),
    ResourceRow(
        "tmux://pane/{paneId}",
        "capture-pane",
        "Screen of a pane",
        TEXT,
        "What the pane shows now",
        lister="list-panes",
    ),
    ResourceRow(
        "tmux://pane/{paneId}/info",
        "pane-info",
        "A pane",
        JSON,
        "Size, program, folder and state of the pane",
    ),
    ResourceRow(
        "tmux://pane/{paneId}/tail/{lines}",
        "capture-pane",
        "The last lines of a pane",
        TEXT,
        "The last lines of the pane's scrollback and screen",
    ),
    ResourceRow(
        "tmux://pane/{paneId}/tail/{lines}/ansi",
        "capture-pane",
        "The last lines of a pane, with colours",
        TEXT,
        "The last lines of the pane, with escape sequences for colours",
        (("colors", True),),
    ),
    ResourceRow(
        "tmux://window/{windowId}/info",
        "window-info",
        "A window",
        JSON,
        "Name, layout and size of the window",
    ),
    ResourceRow(
        "tmux://session/{sessionId}/tree",
        "session-tree",
        "A session's windows and panes",
        JSON,
        "The session with all its windows and panes",
    ),
    ResourceRow(
        COMMAND_RESULT,
        "command-result",
        "Result of a command",
        JSON,
        "Status, exit code and whole output of the command",
        lister="list-commands",
    ),
    ResourceRow(
        "tmux://watch/{watchId}",
        "get-watch",
        "State of a watch",
        JSON,
        "What the watch waits for, or its result",
    ),
    ResourceRow("tmux://buffer/{name}", "show-buffer", "A paste buffer", TEXT, "The content of the buffer"),
)


COMPLETIONS = (
    CompletionRow("paneId", "list-panes", "panes", ("pane", "id")),
    CompletionRow("windowId", "list-windows", "windows", ("id",)),
    CompletionRow("sessionId", "list-sessions", "sessions", ("name", "id")),
    CompletionRow("commandId", "list-commands", "commands", ("commandId",)),
    CompletionRow("name", "list-buffers", "buffers", ("name",)),
)


@record
class ServerInfo:
    socket: str
    ssh: str | None
    exec: str | None
    tmux_version: str | None
    running: bool


@record
class WindowBranch:
    window: WindowRow
    panes: list[PaneRow]


@record
class SessionTree:
    session: SessionRow
    windows: list[WindowBranch]


@tool(Effect.READ, INTERNAL, "list", stands_for=())
async def server_info(ctx: Context) -> ServerInfo:
    """Describe the tmux server."""
    entry = ctx.services.servers.resolve_address(None)
    try:
        version = await ctx.tmux.version_text()
    except NoServer:
        return ServerInfo(entry.path, entry.ssh, entry.exec_command, None, running=False)
    return ServerInfo(entry.path, entry.ssh, entry.exec_command, version, running=True)


@tool(Effect.READ, INTERNAL, "list", stands_for=("capture-pane", "list-panes"))
async def pane_info(ctx: Context, pane_id: PaneId) -> PaneRow:
    """Describe one pane."""
    return PaneRow.from_tmux(await ctx.tmux.panes.get(pane_id))


@tool(Effect.READ, INTERNAL, "list", stands_for=("list-windows",), shows_contents=True)
async def window_info(ctx: Context, window_id: WindowId) -> WindowRow:
    """Describe one window."""
    return WindowRow.from_tmux(await ctx.tmux.windows.get(window_id))


@tool(
    Effect.READ,
    INTERNAL,
    "list",
    stands_for=("list-sessions", "list-windows", "list-panes"),
    shows_contents=True,
)
async def session_tree(ctx: Context, session_id: SessionId) -> SessionTree:
    """Describe a session with its windows and panes."""
    session = await ctx.tmux.sessions.get(session_id)
    panes = [PaneRow.from_tmux(row) for row in await ctx.tmux.panes.list(session_id)]
    windows = [WindowRow.from_tmux(row) for row in await ctx.tmux.windows.list(session_id)]
    branches = [WindowBranch(row, [pane for pane in panes if pane.window_id == row.id]) for row in windows]
    return SessionTree(SessionRow.from_tmux(session), branches)


@record
class CommandSource:
    """The commands of this muxpilot, as resources."""

    shells: CommandRegistry
    servers: TmuxServers

    def entries(self) -> Iterator[LiveEntry]:
        """Yield an entry for each command."""
        for command in self.shells.list_commands():
            title = f"Command in pane {command.pane}: {command.text[:40]}"
            tmux = self.servers.find(command.socket)
            yield LiveEntry(command.id, title, tmux, command.pane, is_asked_here=not command.is_restored)

    async def changes(self, item: str) -> AsyncIterator[None]:
        return _command_changes(self.shells.get_command(item))


async def _command_changes(command: Command) -> AsyncIterator[None]:
    """Yield after each output and each change of status, and once at the end."""
    while not command.status.is_final:
        known = command.changes
        await command.wait_for_change(_LONGEST_WAIT_S, since=known)
        if command.changes != known:
            yield
    yield


@record
class WatchSource:
    """The background watches of all muxpilots, as resources."""

    watches: WatchRegistry
    servers: TmuxServers

    def entries(self) -> Iterator[LiveEntry]:
        """Yield an entry for each watch."""
        for job in self.watches.background_watches:
            watch = self.watches.get(job.id)
            title, tmux = f"Watch of pane {watch.pane}", watch.jobs.tmux
            yield LiveEntry(watch.id, title, tmux, watch.pane, is_asked_here=watch.is_asked_here)

    async def changes(self, item: str) -> AsyncIterator[None]:
        return _watch_end(await self.watches.find(self.servers.default, item))


async def _watch_end(watch: BackgroundWatch) -> AsyncIterator[None]:
    """Yield once: when the watch has ended, or at once if it has ended already."""
    await watch.wait_for_end()
    yield


TOOLS = (server_info, pane_info, window_info, session_tree)
