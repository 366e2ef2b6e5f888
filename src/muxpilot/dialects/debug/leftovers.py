"""Sessions that debug servers have left behind because they were killed.

The next debug server ends a session if its muxpilot marked it as a debug session, gave it the name of one,
and no longer runs.
"""

from __future__ import annotations

import re

from muxpilot.tmux import SessionId, Tmux
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.objects.owner import Owner, this_owner
from muxpilot.tmux.objects.owner_marks import read_session_owner

DEBUG_OPTION = "@muxpilot_debug"


def session_name(owner: Owner) -> str:
    return f"debug-{owner.process.pid}"


def mark_command(session: SessionId) -> Command:
    """Return the tmux command that marks a session as one to end when this process has ended."""
    return "set-option", "-t", session, DEBUG_OPTION, this_owner().token


async def find_leftover_sessions(tmux: Tmux) -> list[tuple[SessionId, Owner]]:
    """Return the sessions whose debug server no longer runs."""
    ask = ("list-sessions", "-F", f"#{{session_id}} #{{session_name}} #{{{DEBUG_OPTION}}}")
    lines = (await tmux.connection.run(ask, repeatable=True)).blocks[0].lines
    found: list[tuple[SessionId, Owner]] = []
    for line in lines:
        session, _, rest = line.decode("utf-8", "replace").partition(" ")
        name, _, token = rest.rpartition(" ")
        owner = await read_session_owner(tmux.connection, SessionId(session)) if token else None
        if owner is None or owner.token != token or not owner.is_gone:
            continue
        if re.fullmatch(rf"{session_name(owner)}(-[0-9]+)?", name):
            found.append((SessionId(session), owner))
    return found
