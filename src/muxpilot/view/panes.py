"""The panes of one tmux server as a person knows them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from muxpilot.errors import MuxpilotError, NoServer
from muxpilot.records import record
from muxpilot.tmux import Pane, Tmux
from muxpilot.tmux.formats import fields
from muxpilot.tmux.models import IS_NO_HUB, PANE
from muxpilot.tmux.objects import owner
from muxpilot.toolkit.sanitize import visible

_PATIENCE_S, _FAR_PATIENCE_S = 3.0, 12.0
_LONGEST_NAME = 120


@record
class Seen(Pane):
    """A pane with all that a person knows it by."""

    session_name: str = ""
    session_used: int = 0
    window_index: int = 0
    window_name: str = ""
    mark: str = ""
    server_started: int = 0
    host: str = ""

    @property
    def is_made_by_us(self) -> bool:
        return owner.read(self.id, self.mark) is not None


_SEEN = fields(
    **PANE,
    session_name=("session_name", str),
    session_used=("session_activity", int),
    window_index=("window_index", int),
    window_name=("window_name", str),
    mark=(owner.OPTION, str),
    server_started=("start_time", int),
    host=("host", str),
)


class Server:
    """One tmux server; `problem` says why it could not be asked, and then the panes are those of before."""

    def __init__(self, name: str, tmux: Tmux) -> None:
        self.name = name
        self.tmux = tmux
        self.panes: tuple[Seen, ...] = ()
        self.problem: str | None = None
        self._sessions: list[str] = []

    @property
    def started(self) -> int:
        """When this tmux was; ids from before are of another."""
        return max((pane.server_started for pane in self.panes), default=0)

    async def look(self) -> None:
        listing = ("list-panes", "-a", "-f", IS_NO_HUB)
        try:
            async with self.tmux.connection.deadline(_FAR_PATIENCE_S if self.tmux.is_far else _PATIENCE_S):
                rows = await self.tmux.connection.records(_SEEN, Seen, *listing)
        except NoServer:
            self.panes, self.problem = (
                (),
                f"No tmux server on {self.tmux.socket}. It shows here when it starts.",
            )
        except MuxpilotError as error:
            self.problem = error.what
        else:
            # One that is linked into several sessions is there several times.
            self.panes, self.problem = tuple({row.id: row for row in reversed(rows)}.values())[::-1], None
            self._order({row.session_id: row.session_used for row in rows})

    def use_of(self, pane: Seen) -> int:
        """The later its session was used last, the larger.

        To attach to a session is to use it. In this order, a bare `tmux attach` goes to the same of them.
        """
        return self._sessions.index(pane.session_id) if pane.session_id in self._sessions else -1

    def _order(self, used: Mapping[str, int]) -> None:
        """tmux tells whole seconds: within one, what we knew before holds."""
        known = [each for each in self._sessions if each in used]
        self._sessions = sorted(dict.fromkeys([*known, *used]), key=lambda each: used[each])

    def is_meant_by(self, socket: str | None) -> bool:
        """Whether a call that named this server, or none, was for this one. A path is of this machine."""
        if socket is None:
            return self.name == "default"
        is_here = not self.tmux.is_far
        return socket == self.name or (is_here and _is_same_place(socket, self.tmux.socket))


def told(server: Server, pane: Seen, *, is_agents: bool) -> dict[str, Any]:
    """What a page is told of a pane."""
    return {
        "key": key_of(server, pane),
        "server": server.name,
        "id": pane.id,
        "place": _name(f"{pane.session_name}:{pane.window_index}.{pane.index}"),
        "window": _name(pane.window_name),
        "title": _name(pane.title) if pane.title != pane.host else "",  # which it is until somebody sets it
        "command": _name(pane.current_command),
        "path": _name(pane.current_path),
        "columns": pane.width,
        "rows": pane.height,
        "dead": pane.is_dead,
        "exitCode": pane.exit_code,
        "inMode": pane.in_mode,
        "agents": is_agents,
    }


def key_of(server: Server, pane: Seen) -> str:
    """Ids begin anew with every tmux server."""
    return f"{server.name} {pane.server_pid} {pane.id}"


def _is_same_place(one: str, other: str) -> bool:
    """Agents choose these words: what can be no path is no place."""
    try:
        return os.path.realpath(one) == os.path.realpath(other)
    except ValueError:
        return False


def _name(text: str) -> str:
    clean = visible(text[: 2 * _LONGEST_NAME]).replace("\n", " ")
    return clean if len(clean) <= _LONGEST_NAME else f"{clean[:_LONGEST_NAME]}…"
