"""How workspaces are found again: options of tmux on their sessions and panes.

A session's mark is `$3 NAME FOLDER`. A pane's mark is `%5 $3 NAME`, with the ids of the pane and of the
workspace's session. Options are inherited, so each mark begins with the id of the object that it is set on,
and is ignored on any other. A pane keeps its mark if a person moves it to another session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from muxpilot.errors import MuxpilotError, NoServer, NotFound
from muxpilot.records import record
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.connection.control_line import BracedCommands
from muxpilot.tmux.formats import fields, flag
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId, SessionId
from muxpilot.tmux.models import NOT_HUB_FILTER
from muxpilot.tmux.objects.recorded_exit import REMAINED_OPTION

# Later versions of muxpilot read these options too, so their names must stay as they are.
SESSION_OPTION = "@muxpilot_workspace"
PANE_OPTION = "@muxpilot_pane"

# No variable has this name, so this command fails, and tmux answers with an error.
_REFUSED = "muxpilot-name-taken"
_HAS_MARK = f"#{{m:#{{pane_id}} $*,#{{{PANE_OPTION}}}}}"
_EVERY_MARK = f"#{{S:#{{W:#{{P:|#{{{PANE_OPTION}}}|}}}}}}"


@record
class MarkedSession:
    """A session with its mark, which is empty where it is no workspace."""

    id: SessionId
    name: str
    mark: str

    @property
    def workspace(self) -> tuple[str, str] | None:
        """Return the name and the folder of the workspace, or None."""
        words = self.mark.split(" ")
        return (words[1], words[2]) if len(words) == 3 and words[0] == self.id else None


@record
class MarkedPane:
    """A pane with a mark. `remained` is set while a muxpilot keeps it only to read its exit status."""

    id: PaneId
    mark: str
    is_dead: bool
    remained: str

    @property
    def is_closing(self) -> bool:
        """Return whether the pane is dead and about to be closed by the muxpilot that keeps it."""
        return self.is_dead and self.remained not in ("", "on")

    def name_in(self, session: SessionId) -> str | None:
        """Return the name of the pane in a workspace, or None if it belongs to another one."""
        words = self.mark.split(" ")
        is_here = len(words) == 3 and words[:2] == [self.id, session]
        return words[2] if is_here else None


_MARKED_SESSION = fields(id=("session_id", SessionId), name=("session_name", str), mark=(SESSION_OPTION, str))
_MARKED_PANE = fields(
    id=("pane_id", PaneId),
    mark=(PANE_OPTION, str),
    is_dead=("pane_dead", flag),
    remained=(REMAINED_OPTION, str),
)


async def list_sessions(connection: Connection) -> Sequence[MarkedSession]:
    """List all sessions with their marks."""
    return await connection.list_all_records(
        _MARKED_SESSION, MarkedSession, "list-sessions", "-f", NOT_HUB_FILTER
    )


async def list_marked_panes(connection: Connection) -> Sequence[MarkedPane]:
    """List the panes of all workspaces, in the order of their ids."""
    rows = await connection.list_all_records(_MARKED_PANE, MarkedPane, "list-panes", "-a", "-f", _HAS_MARK)
    return sorted({row.id: row for row in rows}.values(), key=lambda row: int(row.id[1:]))


async def list_workspaces(connection: Connection) -> tuple[dict[SessionId, str], dict[PaneId, str]]:
    """Return the names of all workspaces, by their sessions, and the names of the panes in them."""
    sessions, panes = await asyncio.gather(list_sessions(connection), list_marked_panes(connection))
    workspaces = {row.id: row.workspace[0] for row in sessions if row.workspace is not None}
    named = {row.id: name for row in panes for session in workspaces if (name := row.name_in(session))}
    return workspaces, named


async def is_alive_and_marked(connection: Connection, pane: MarkedPane) -> bool:
    """Return whether a pane still lives and has the same mark."""
    ask = ("display-message", "-p", "-t", pane.id, f"#{{pane_dead}} #{{{PANE_OPTION}}}")
    try:
        return (await connection.run(ask, repeatable=True)).first_line == f"0 {pane.mark}"
    except (NotFound, NoServer):
        return False


def mark_session_command(session_name: str, workspace: str, folder_key: str) -> Command:
    """Return the command that marks the session of this name as a workspace; tmux fills in its id."""
    mark = f"#{{session_id}} {workspace} {folder_key}"
    return ("set-option", "-F", "-t", f"={session_name}:", SESSION_OPTION, mark)


def forget_variables_commands(session_name: str, variables: Iterable[str]) -> list[Command]:
    """Return the commands that keep the variables of the first pane from the other panes of its session.

    `new-session -e` sets them for the whole session, `new-window -e` for one pane only.
    """
    return [("set-environment", "-t", f"={session_name}:", "-u", name) for name in variables]


def claim_command(pane: PaneId, session: SessionId, name: str) -> Command:
    """Return the command that gives a new pane its name, or kills the pane and fails if the name is taken.

    tmux does it in one step, so of several muxpilots that ask for a name one gets it. The pane's program
    cannot change the name of the window.
    """
    is_taken = f"#{{m:*|%* {session} {name}|*,{_EVERY_MARK}}}"
    option = ("set-option", "-p", "-t", pane)
    return (
        *("if-shell", "-F", "-t", pane, is_taken),
        BracedCommands.of(("kill-pane", "-t", pane), ("show-environment", "-g", _REFUSED)),
        BracedCommands.of(
            (*option, PANE_OPTION, f"{pane} {session} {name}"), (*option, "-q", "allow-rename", "off")
        ),
    )


def unmark_command(pane: PaneId) -> Command:
    """Return the command that takes the name away from a pane."""
    return ("set-option", "-p", "-u", "-t", pane, PANE_OPTION)


def is_name_taken(error: MuxpilotError) -> bool:
    """Return whether an error is that of a claim that came too late."""
    return _REFUSED in (error.tmux_message or "")
