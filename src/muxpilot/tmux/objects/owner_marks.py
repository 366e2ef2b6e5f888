"""Which muxpilots created the sessions and panes of a server, and which programs are connected to it."""

from __future__ import annotations

from collections.abc import Sequence

from muxpilot.errors import NotFound
from muxpilot.records import record
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.formats import fields, flag
from muxpilot.tmux.ids import PaneId, SessionId
from muxpilot.tmux.objects.owner import OWNER_OPTION, MarkableId, Owner, parse_owner


@record
class PaneWithOwner:
    """A pane with its owner mark; `activity` is when its window last printed something, in seconds."""

    id: PaneId
    session_id: SessionId
    is_dead: bool
    activity: int
    mark: str

    @property
    def owner(self) -> Owner | None:
        """Return the muxpilot that created it; None if none did."""
        return parse_owner(self.id, self.mark)


_PANE = fields(
    id=("pane_id", PaneId),
    session_id=("session_id", SessionId),
    is_dead=("pane_dead", flag),
    activity=("window_activity", int),
    mark=(OWNER_OPTION, str),
)
_CLIENT = fields(pid=("client_pid", int), is_control=("client_control_mode", flag))


@record
class ClientProcess:
    """A client of the server by its process."""

    pid: int
    is_control: bool


async def read_session_owner(connection: Connection, session: SessionId) -> Owner | None:
    """Return the muxpilot that created a session; None if none did, or if the session has just ended.

    The format of a session would give the mark of its active pane: tmux looks there first.
    """
    ask = ("show-options", "-qv", "-t", session, OWNER_OPTION)
    try:
        return parse_owner(session, (await connection.run(ask, repeatable=True)).first_line)
    except NotFound:
        return None


async def list_sessions_showing(connection: Connection, target: MarkableId) -> list[SessionId]:
    """Return the sessions that show a window or pane; a session shows itself."""
    if isinstance(target, SessionId):
        return [target]
    field = "pane_id" if isinstance(target, PaneId) else "window_id"
    ask = ("list-panes", "-a", "-f", f"#{{==:#{{{field}}},{target}}}", "-F", "#{session_id}")
    lines = (await connection.run(ask, repeatable=True)).blocks[0].lines
    return [SessionId(each) for each in dict.fromkeys(line.decode("ascii", "replace") for line in lines)]


async def list_panes_with_owners(connection: Connection) -> Sequence[PaneWithOwner]:
    """List all panes, whatever the policy hides: one that is not shown protects its session."""
    return await connection.list_all_records(_PANE, PaneWithOwner, "list-panes", "-a")


async def list_control_processes(connection: Connection) -> Sequence[int]:
    """Return the processes of all control clients, ours and those of other muxpilots and programs."""
    rows = await connection.list_all_records(_CLIENT, ClientProcess, "list-clients")
    return [row.pid for row in rows if row.is_control]
