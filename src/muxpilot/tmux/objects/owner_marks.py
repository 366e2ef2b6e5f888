"""List the sessions and panes of a server with the muxpilots that created them."""

from __future__ import annotations

from collections.abc import Sequence

from muxpilot.records import record
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.formats import fields, flag
from muxpilot.tmux.ids import PaneId, SessionId
from muxpilot.tmux.objects.owner import OWNER_OPTION, Owner, parse_owner


@record
class MarkedSession:
    """A session with its owner mark, which may be empty."""

    id: SessionId
    mark: str

    @property
    def owner(self) -> Owner | None:
        """Return the muxpilot that created it; None if none did."""
        return parse_owner(self.id, self.mark)


@record
class MarkedPane:
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


_SESSION = fields(id=("session_id", SessionId), mark=(OWNER_OPTION, str))
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


async def list_marked_sessions(connection: Connection) -> Sequence[MarkedSession]:
    """List all sessions that the policy shows, with their marks."""
    return await connection.list_records(_SESSION, MarkedSession, "list-sessions")


async def list_marked_panes(connection: Connection) -> Sequence[MarkedPane]:
    """List all panes, whatever the policy hides: one that is not shown protects its session."""
    return await connection.list_all_records(_PANE, MarkedPane, "list-panes", "-a")


async def list_control_processes(connection: Connection) -> Sequence[int]:
    """Return the processes of all control clients, ours and those of other muxpilots and programs."""
    rows = await connection.list_all_records(_CLIENT, ClientProcess, "list-clients")
    return [row.pid for row in rows if row.is_control]
