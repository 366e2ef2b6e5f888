"""Which sessions a debug server that was killed has left.

The next one ends those that are marked as a debug session by the muxpilot that made them, that have the name
it gives, and whose muxpilot is gone.
"""

from __future__ import annotations

import re

from muxpilot.errors import NotFound
from muxpilot.tmux import SessionId, Tmux
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.objects.owner import OPTION as OWNER
from muxpilot.tmux.objects.owner import Owner, ours, read

OPTION = "@muxpilot_debug"


def session_name(owner: Owner) -> str:
    return f"debug-{owner.process.pid}"


def ends_with_us(session: SessionId) -> Command:
    """Mark a session of ours as one that is nobody's when we are gone."""
    return "set-option", "-t", session, OPTION, ours().token


async def abandoned(tmux: Tmux) -> list[tuple[SessionId, Owner]]:
    """The sessions that muxpilots which are gone have left."""
    ask = ("list-sessions", "-F", f"#{{session_id}} #{{session_name}} #{{{OPTION}}}")
    lines = (await tmux.connection.run(ask, repeatable=True)).blocks[0].lines
    found: list[tuple[SessionId, Owner]] = []
    for line in lines:
        session, _, rest = line.decode("utf-8", "replace").partition(" ")
        name, _, token = rest.rpartition(" ")
        owner = await _owner(tmux, session) if token else None
        if owner is None or owner.token != token or not owner.is_gone:
            continue
        if re.fullmatch(rf"{session_name(owner)}(-[0-9]+)?", name):
            found.append((SessionId(session), owner))
    return found


async def _owner(tmux: Tmux, session: str) -> Owner | None:
    ask = ("show-options", "-qv", "-t", session, OWNER)
    try:
        return read(session, (await tmux.connection.run(ask, repeatable=True)).first_line)
    except NotFound:  # it has ended meanwhile; the others are looked at all the same
        return None
