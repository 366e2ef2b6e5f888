"""How long a session may be unused before it is ended: an option of tmux on the session.

The mark is `$3 SECONDS`. Options are inherited, so it begins with the id of the session that it is set on,
and is ignored on any other. It is in tmux, so every muxpilot knows it, also one that is started later.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from muxpilot.records import record
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.formats import fields
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import SessionId
from muxpilot.tmux.models import CLIENT, Client

# Later versions of muxpilot read this option too, so its name must stay as it is.
IDLE_LIMIT_OPTION = "@muxpilot_idle_limit"

_MARK = re.compile(r"(\$[0-9]+) ([0-9]{1,12}(?:\.[0-9]{1,3})?)")
_EVERY_ACTIVITY = "W:#{window_activity}+"
# What changes when a person attaches or types, or when something is printed in any window.
_EVIDENCE = f"#{{session_attached}} #{{session_activity}} #{{{_EVERY_ACTIVITY}}}"


def _word(text: str) -> str:
    return text


def _int_or_zero(text: str) -> int:
    return int(text or 0)


@record
class LimitedSession:
    """A session with a limit, and when it was used. Times are in whole seconds, by the clock of its host."""

    id: SessionId
    name: str
    attached: int
    activity: int
    created: int
    last_attached: int
    printed: str
    mark: str

    @property
    def limit_s(self) -> float | None:
        """Return how long the session may be unused, or None if the mark is that of another one."""
        found = _MARK.fullmatch(self.mark)
        return float(found[2]) if found is not None and found[1] == self.id else None

    @property
    def last_use(self) -> int:
        """Return when a person attached or typed, or something was printed, last."""
        printed = [int(word) for word in self.printed.split("+") if word]
        return max(self.activity, self.created, self.last_attached, *printed)

    def kill_command(self) -> Command:
        """Return the command that kills the session if it was not used since it was listed.

        tmux does it in one step, so no person and no program can come in between.
        """
        seen = f"{self.attached} {self.activity} {self.printed}"
        is_unused = f"#{{==:{_EVIDENCE},{seen}}}"
        return ("if-shell", "-F", "-t", f"{self.id}:", is_unused, f"kill-session -t '{self.id}'")


_LIMITED_SESSION = fields(
    id=("session_id", SessionId),
    attached=("session_attached", int),
    activity=("session_activity", int),
    created=("session_created", int),
    last_attached=("session_last_attached", _int_or_zero),
    printed=(_EVERY_ACTIVITY, _word),
    name=("session_name", str),
    mark=(IDLE_LIMIT_OPTION, str),
)


def idle_limit_command(session: SessionId, limit_s: float) -> Command:
    """Return the command that gives a session its limit."""
    return ("set-option", "-t", session, IDLE_LIMIT_OPTION, f"{session} {limit_s:.3f}")


def idle_limit_command_by_name(session_name: str, limit_s: float) -> Command:
    """Return the same for a session that is just being created; tmux fills in its id."""
    mark = f"#{{session_id}} {limit_s:.3f}"
    return ("set-option", "-F", "-t", f"={session_name}:", IDLE_LIMIT_OPTION, mark)


async def list_limited_sessions(connection: Connection) -> list[LimitedSession]:
    """Return the sessions that have a limit of their own, whatever the policy hides."""
    rows = await connection.list_all_records(
        _LIMITED_SESSION, LimitedSession, "list-sessions", "-f", f"#{{{IDLE_LIMIT_OPTION}}}"
    )
    return [row for row in rows if row.limit_s is not None]


async def read_clock(connection: Connection) -> int:
    """Return the time on the server's host, in whole seconds."""
    reply = await connection.run(("display-message", "-p", "%s"), repeatable=True)
    return int(reply.first_line)


async def list_attached_people(connection: Connection) -> Sequence[Client]:
    """Return the clients of people, whatever the policy hides."""
    rows = await connection.list_all_records(CLIENT, Client, "list-clients")
    return [row for row in rows if row.is_person and row.session_id is not None]
