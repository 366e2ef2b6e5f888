"""Sessions."""

from __future__ import annotations

import os
from typing import Annotated

from muxpilot.errors import BadInput, NoServer, NotFound, Refused
from muxpilot.records import record
from muxpilot.tmux import Program, Session, SessionId, socket_for_path
from muxpilot.toolkit.argument_flags import Mark
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.spec import PRIMITIVE, STARRED, Effect, tool


@record
class SessionRow:
    id: SessionId
    name: str
    windows: int
    attached: int
    created: int

    @classmethod
    def of(cls, row: Session) -> SessionRow:
        return cls(row.id, row.name, row.windows, row.attached, row.created)


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
class Killed:
    killed: str


@record
class SocketOfPath:
    path: str
    socket: str


@tool(Effect.READ, PRIMITIVE, "socket", name="socket-for-path")
async def socket_of_path(
    ctx: Context, path: Annotated[str, "Folder or file that the work is about"]
) -> SocketOfPath:
    """The private tmux socket for a path: the same for every agent of this user.

    Pass it as `socket` to keep work on one project apart from the user's own tmux."""
    return SocketOfPath(path, socket_for_path(path))


@tool(Effect.READ, STARRED, "list")
async def list_sessions(ctx: Context) -> SessionList:
    """List tmux sessions; `attached` counts people looking on."""
    try:
        rows = await ctx.tmux.sessions.list()
    except NoServer:
        rows = []  # a server that is not running has no sessions
    return SessionList([SessionRow.of(row) for row in rows])


@tool(Effect.READ, PRIMITIVE, "list")
async def find_session(
    ctx: Context, name: Annotated[str, "Exact name, part of one, or a glob"]
) -> SessionRow:
    """Find a session by name. An exact name wins; else the most recently used one that fits."""
    return SessionRow.of(await ctx.tmux.sessions.find(name))


@tool(Effect.READ, PRIMITIVE, "list")
async def get_current_session(ctx: Context) -> SessionRow:
    """The session this server runs in, else the one that people used last."""
    own = await _own_session(ctx)
    if own is not None:
        return SessionRow.of(own)
    attached = [row for row in await ctx.tmux.sessions.list() if row.attached]
    if not attached:
        raise Refused("Nobody is attached to a session.", "Use list-sessions to see the sessions there are.")
    return SessionRow.of(max(attached, key=lambda row: row.activity))


async def _own_session(ctx: Context) -> Session | None:
    pane, socket = os.environ.get("TMUX_PANE"), os.environ.get("TMUX", "").partition(",")[0]
    if not pane or socket != ctx.tmux.socket:
        return None
    try:
        row = await ctx.tmux.panes.get(await ctx.tmux.targets.pane(pane))
    except NotFound:
        return None
    return await ctx.tmux.sessions.get(row.session_id)


@tool(Effect.CREATE, STARRED, "create")
async def create_session(
    ctx: Context,
    name: Annotated[str | None, "If taken, that session is returned unchanged"] = None,
    command: Annotated[
        str | None, "Program to run instead of the shell; the pane ends with it", Mark.SHELL
    ] = None,
    window_name: Annotated[str | None, "Name of its first window"] = None,
    cwd: Annotated[str | None, "Folder to start in"] = None,
    env: Annotated[dict[str, str] | None, "Variables for its panes"] = None,
    width: Annotated[int, "Columns", Between(1, 10000)] = 200,
    height: Annotated[int, "Rows", Between(1, 10000)] = 50,
) -> CreatedSession:
    """Create a detached session, or return the one that has this name (`created: false`).

    For another window in a session you have, use create-window."""
    program = Program(command, cwd, env)
    made = await ctx.tmux.sessions.create(
        name, window_name=window_name, width=width, height=height, program=program
    )
    return CreatedSession(made.session_id, made.session_name, made.window_id, made.pane_id, made.created)


@tool(Effect.CHANGE, PRIMITIVE, "rename")
async def rename_session(
    ctx: Context,
    session_id: SessionId,
    new_name: Annotated[str | None, "The new name"] = None,
    name: Annotated[str | None, "The same as newName"] = None,
) -> RenamedSession:
    """Rename a session; answers the name that tmux keeps."""
    wanted = new_name if new_name is not None else name
    if wanted is None or (name is not None and name != wanted):
        raise BadInput("The argument 'newName' is missing.", "Give newName (or name), once.")
    return RenamedSession(session_id, await ctx.tmux.sessions.rename(session_id, wanted))


@tool(Effect.DESTROY, STARRED, "kill")
async def kill_session(ctx: Context, session_id: SessionId) -> Killed:
    """Kill a session and everything that runs in it."""
    await ctx.tmux.sessions.kill(session_id)
    return Killed(session_id)


TOOLS = (
    socket_of_path,
    list_sessions,
    find_session,
    get_current_session,
    create_session,
    rename_session,
    kill_session,
)
