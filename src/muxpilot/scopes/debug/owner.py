"""Whose a debug session is: a mark on the session names the muxpilot that made it.

A muxpilot that was killed leaves its session behind. The next one ends it, if the mark is one, the
session's name is the one that goes with it, and the process that made it is gone.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field

from muxpilot.scopes.debug.processes import Process, namespace, ourselves
from muxpilot.tmux import SessionId, Tmux
from muxpilot.tmux.endpoint import Command

_OPTION = "@muxpilot_debug"
_MARK = re.compile(r"([0-9]{1,10}) ([0-9]{1,20}) (\S{1,80}) ([0-9a-f]{32})")


@dataclass(frozen=True, slots=True)
class Owner:
    """A process in its namespace; `token` marks the processes of its panes."""

    process: Process = field(default_factory=ourselves)
    space: str = field(default_factory=namespace)
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def session_name(self) -> str:
        return f"debug-{self.process.pid}"

    def mark(self, session: SessionId) -> Command:
        text = f"{self.process.pid} {self.process.start} {self.space} {self.token}"
        return "set-option", "-t", session, _OPTION, text

    @classmethod
    def read(cls, text: str) -> Owner | None:
        found = _MARK.fullmatch(text)
        return cls(Process(int(found[1]), int(found[2])), found[3], found[4]) if found else None

    @property
    def is_gone(self) -> bool:
        """Only said of a process that we could see."""
        return self.space == namespace() and not self.process.is_there


async def abandoned(tmux: Tmux) -> list[tuple[SessionId, Owner]]:
    """The sessions that muxpilots which are gone have left."""
    ask = ("list-sessions", "-F", f"#{{session_id}} #{{session_name}} #{{{_OPTION}}}")
    lines = (await tmux.connection.run(ask, repeatable=True)).blocks[0].lines
    found: list[tuple[SessionId, Owner]] = []
    for line in lines:
        session, _, rest = line.decode("utf-8", "replace").partition(" ")
        name, _, mark = rest.partition(" ")
        owner = Owner.read(mark)
        is_named_so = owner is not None and re.fullmatch(rf"{owner.session_name}(-[0-9]+)?", name)
        if owner is not None and is_named_so and owner.is_gone:
            found.append((SessionId(session), owner))
    return found
