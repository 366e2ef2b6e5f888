"""Tools for attached clients, and the list of servers."""

from __future__ import annotations

import asyncio
import functools
from typing import Annotated

from muxpilot.errors import MuxpilotError, NoServer
from muxpilot.records import record
from muxpilot.tmux import Client, PaneId
from muxpilot.tmux.servers import ServerAddress
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.spec import PRIMITIVE, STARRED, Effect, tool
from muxpilot.tools.context import Context

# All servers are asked at the same time. One that does not answer must not delay the others.
_SERVER_TIMEOUT_S = 12.0


@record
class ClientRow:
    tty: str
    name: str
    session_name: str
    pid: int
    width: int
    height: int
    readonly: bool

    @classmethod
    def from_tmux(cls, row: Client) -> ClientRow:
        return cls(row.tty, row.name, row.session_name, row.pid, row.width, row.height, row.is_readonly)


@record
class ClientList:
    clients: list[ClientRow]


@record
class DetachedClient:
    client_tty: str


@record
class ShownMessage:
    shown: int


@record
class ServerRow:
    name: str
    socket: str
    ssh: str | None
    state: str
    tmux_version: str | None
    sessions: int | None
    reason: str | None = None
    exec: str | None = None


@record
class ServerList:
    servers: list[ServerRow]


@tool(Effect.READ, PRIMITIVE, "list")
async def list_clients(ctx: Context) -> ClientList:
    """List the terminals that are attached to tmux."""
    return ClientList([ClientRow.from_tmux(row) for row in await ctx.tmux.clients.list()])


@tool(Effect.DESTROY, PRIMITIVE, "kill", detaches="client_tty")
async def detach_client(ctx: Context, client_tty: Annotated[str, "tty from list-clients"]) -> DetachedClient:
    """Detach a person's terminal; the session continues."""
    await ctx.tmux.clients.detach(client_tty)
    return DetachedClient(client_tty)


@tool(Effect.READ, PRIMITIVE, "list", reaches_server=False)
async def list_servers(ctx: Context) -> ServerList:
    """List the tmux servers that `socket` can name, and their state."""
    return ServerList(
        await asyncio.gather(
            *(_describe_server(ctx, name, entry) for name, entry in ctx.services.servers.visible_addresses())
        )
    )


async def _describe_server(ctx: Context, name: str, entry: ServerAddress) -> ServerRow:
    tmux = ctx.services.servers.get(None if name == "default" else name)
    row = functools.partial(ServerRow, name, entry.path, entry.ssh, exec=entry.exec_command)
    try:
        async with tmux.connection.deadline(_SERVER_TIMEOUT_S):
            sessions = len(await tmux.sessions.list())
            version = await tmux.version_text()
    except NoServer:
        return row("idle", None, 0)
    except MuxpilotError as error:
        return row("unreachable", None, None, str(error))
    return row("connected", version, sessions)


@tool(Effect.CHANGE, STARRED, "display", is_shown_beside_pane=True)
async def display_message(
    ctx: Context,
    message: Annotated[str, "One line"],
    duration: Annotated[float, "Seconds", Between(0.1, 3600)] = 3,
    pane_id: Annotated[PaneId | None, "Only its session's clients"] = None,
) -> ShownMessage:
    """Show a line in the status bar of attached clients; `shown` counts them."""
    session = (await ctx.tmux.panes.get(pane_id)).session_id if pane_id is not None else None
    try:
        return ShownMessage(
            await ctx.tmux.clients.show_message(message, duration_s=duration, session=session)
        )
    except NoServer:
        return ShownMessage(0)  # a server that is not running has no clients


TOOLS = (list_clients, detach_client, list_servers, display_message)
