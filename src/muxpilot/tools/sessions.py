"""Tools for sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from muxpilot.errors import BadInput, NoServer, NotFound, Refused
from muxpilot.records import record
from muxpilot.tmux import CreatedPane, PaneProgram, Session, SessionId, socket_for_path
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.rows import Killed, SessionRow
from muxpilot.toolkit.spec import PRIMITIVE, STARRED, Effect, tool
from muxpilot.tools.context import Context


@record
class SessionList:
    sessions: list[SessionRow]


@record
class CreatedSession:
    session_id: str
    session_name: str
    window_id: str
    pane_id: str
    created: bool


@record
class RenamedSession:
    session_id: str
    name: str


@record
class SocketOfPath:
    path: str
    socket: str


@tool(Effect.READ, PRIMITIVE, "socket", name="socket-for-path", reaches_server=False)
async def socket_of_path(ctx: Context, path: Annotated[str, "Folder or file of the project"]) -> SocketOfPath:
    """Return the private tmux socket for a path: the same for every agent of this user.

    Pass it as `socket` to keep work on one project apart from the user's own tmux."""
    return SocketOfPath(path, socket_for_path(path))


@tool(Effect.READ, STARRED, "list")
async def list_sessions(ctx: Context) -> SessionList:
    """List tmux sessions; `attached` counts attached clients."""
    try:
        rows = await ctx.tmux.sessions.list()
    except NoServer:
        rows = []  # a server that is not running has no sessions
    return SessionList([SessionRow.from_tmux(row) for row in rows])


@tool(Effect.READ, PRIMITIVE, "list")
async def find_session(
    ctx: Context, name: Annotated[str, "Exact name, part of a name, or glob"]
) -> SessionRow:
    """Find a session by name: the exact one, else the most recently used one that matches."""
    return SessionRow.from_tmux(await ctx.tmux.sessions.find(name))


@tool(Effect.READ, PRIMITIVE, "list")
async def get_current_session(ctx: Context) -> SessionRow:
    """Return the session that this server runs in, else the attached one that was used last."""
    own = await _own_session(ctx)
    if own is not None:
        return SessionRow.from_tmux(own)
    attached = [row for row in await ctx.tmux.sessions.list() if row.attached]
    if not attached:
        raise Refused("No client is attached to a session.", "Use list-sessions to see all sessions.")
    return SessionRow.from_tmux(max(attached, key=lambda row: row.activity))


async def _own_session(ctx: Context) -> Session | None:
    pane = await ctx.services.own_panes.find(ctx.tmux)
    if pane is None:
        return None
    try:
        row = await ctx.tmux.panes.get(await ctx.tmux.targets.resolve_pane(pane))
    except NotFound:
        return None
    return await ctx.tmux.sessions.get(row.session_id)


@tool(Effect.CREATE, STARRED, "create", creates_session=True, session_names=("name",))
async def create_session(
    ctx: Context,
    name: Annotated[str | None, "Session name", ArgumentFlag.EVIDENT] = None,
    command: Annotated[str | None, "Run this, not a shell", ArgumentFlag.SHELL] = None,
    window_name: Annotated[str | None, "First window"] = None,
    cwd: Annotated[str | None, "Working directory", ArgumentFlag.EVIDENT] = None,
    env: Annotated[dict[str, str] | None, "Environment variables", ArgumentFlag.EVIDENT] = None,
    width: Annotated[int, "Columns", Between(1, 10000), ArgumentFlag.EVIDENT] = 200,
    height: Annotated[int, "Rows", Between(1, 10000), ArgumentFlag.EVIDENT] = 50,
    ttl_minutes: Annotated[float | None, "End if unused so long", Between(0.001, 10**7)] = None,
) -> CreatedSession:
    """Create a detached session, or return an existing one."""
    program = PaneProgram(command, cwd, env)
    made = await ctx.tmux.sessions.create(
        name,
        window_name=window_name,
        width=width,
        height=height,
        program=program,
        claim=None if ttl_minutes is None else _limit_idle_time(60 * ttl_minutes),
    )
    if ttl_minutes is not None:
        ctx.services.idle_sessions.note_limit(ctx.tmux)
    return CreatedSession(made.session_id, made.session_name, made.window_id, made.pane_id, made.created)


def _limit_idle_time(limit_s: float) -> Callable[[CreatedPane], Command]:
    from muxpilot.tmux.objects.idle_limit import idle_limit_command

    return lambda pane: idle_limit_command(pane.session_id, limit_s)


@tool(Effect.CHANGE, PRIMITIVE, "rename", session_names=("new_name", "name"))
async def rename_session(
    ctx: Context,
    session_id: SessionId,
    new_name: Annotated[str | None, "New name"] = None,
    name: Annotated[str | None, "Same as newName"] = None,
) -> RenamedSession:
    """Rename a session; returns the name that tmux keeps."""
    wanted = new_name if new_name is not None else name
    if wanted is None:
        raise BadInput("The argument 'newName' is missing.", "Give the new name.")
    if name is not None and name != wanted:
        raise BadInput("The arguments 'newName' and 'name' differ.", "Give one of them.")
    return RenamedSession(session_id, await ctx.tmux.sessions.rename(session_id, wanted))


@tool(Effect.DESTROY, STARRED, "kill")
async def kill_session(ctx: Context, session_id: SessionId) -> Killed:
    """Kill a session and all programs in it."""
    return Killed.of(session_id, await ctx.tmux.endings.kill_session(session_id))


TOOLS = (
    socket_of_path,
    list_sessions,
    find_session,
    get_current_session,
    create_session,
    rename_session,
    kill_session,
)
