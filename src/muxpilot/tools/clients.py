"""People who look on, and the servers that there are."""

from __future__ import annotations

import asyncio
from typing import Annotated

from muxpilot.errors import MuxpilotError, NoServer
from muxpilot.records import record
from muxpilot.tmux import Client, PaneId
from muxpilot.tmux.servers import Named
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.spec import PRIMITIVE, STARRED, Effect, tool

# They are asked side by side; one that hangs must not hold back what the others say.
_PATIENCE_S = 12.0


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
    def of(cls, row: Client) -> ClientRow:
        return cls(row.tty, row.name, row.session_name, row.pid, row.width, row.height, row.is_readonly)


@record
class ClientList:
    clients: list[ClientRow]


@record
class DetachedClient:
    client_tty: str


@record
class Shown:
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


@record
class ServerList:
    servers: list[ServerRow]


@tool(Effect.READ, PRIMITIVE, "list")
async def list_clients(ctx: Context) -> ClientList:
    """List the terminals through which people look at tmux."""
    return ClientList([ClientRow.of(row) for row in await ctx.tmux.clients.list()])


@tool(Effect.DESTROY, PRIMITIVE, "kill")
async def detach_client(
    ctx: Context, client_tty: Annotated[str, "A tty from list-clients"]
) -> DetachedClient:
    """Detach a person's terminal; their sessions live on."""
    await ctx.tmux.clients.detach(client_tty)
    return DetachedClient(client_tty)


@tool(Effect.READ, PRIMITIVE, "list")
async def list_servers(ctx: Context) -> ServerList:
    """List the tmux servers that can be named, and how they are."""
    return ServerList(
        await asyncio.gather(*(_server(ctx, name, entry) for name, entry in ctx.servers.known()))
    )


async def _server(ctx: Context, name: str, entry: Named) -> ServerRow:
    tmux = ctx.servers.get(None if name == "default" else name)
    try:
        async with tmux.connection.deadline(_PATIENCE_S):
            sessions = len(await tmux.sessions.list())
            version = await tmux.version_text()
    except NoServer:
        return ServerRow(name, entry.path, entry.ssh, "idle", None, 0)
    except MuxpilotError as error:
        return ServerRow(name, entry.path, entry.ssh, "unreachable", None, None, str(error))
    return ServerRow(name, entry.path, entry.ssh, "connected", version, sessions)


@tool(Effect.CHANGE, STARRED, "display")
async def display_message(
    ctx: Context,
    message: Annotated[str, "One line, shown as it is"],
    duration: Annotated[float, "Seconds", Between(0.1, 3600)] = 3,
    pane_id: Annotated[PaneId | None, "Only to those who look at this pane's session"] = None,
) -> Shown:
    """Show a line in the status bar of people who look on; `shown` says to how many.

    One-way: to ask tmux something, use the list tools."""
    session = (await ctx.tmux.panes.get(pane_id)).session_id if pane_id is not None else None
    try:
        return Shown(await ctx.tmux.clients.show(message, duration_s=duration, session=session))
    except NoServer:
        return Shown(0)  # nobody looks at a server that is not running


TOOLS = (list_clients, detach_client, list_servers, display_message)
