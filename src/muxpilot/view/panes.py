"""The panes of one tmux server, with what a person recognizes them by."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from muxpilot.errors import MuxpilotError, NoServer
from muxpilot.records import record
from muxpilot.terminal.sanitize import sanitize_text
from muxpilot.tmux import Pane, Tmux
from muxpilot.tmux.formats import fields
from muxpilot.tmux.models import NOT_HUB_FILTER, PANE
from muxpilot.tmux.objects import owner

_TIMEOUT_S, _REMOTE_TIMEOUT_S = 3.0, 12.0
_LONGEST_NAME = 120


@record
class ViewPane(Pane):
    """A pane with the names of its session and window, and who created it."""

    session_name: str = ""
    session_used: int = 0
    window_index: int = 0
    window_name: str = ""
    mark: str = ""
    server_started: int = 0
    host: str = ""

    @property
    def is_created_by_muxpilot(self) -> bool:
        return owner.parse_owner(self.id, self.mark) is not None


_VIEW_PANE = fields(
    **PANE,
    session_name=("session_name", str),
    session_used=("session_activity", int),
    window_index=("window_index", int),
    window_name=("window_name", str),
    mark=(owner.OWNER_OPTION, str),
    server_started=("start_time", int),
    host=("host", str),
)


class ViewServer:
    """One tmux server. `problem` says why its panes could not be listed; then the last list stays."""

    def __init__(self, name: str, tmux: Tmux) -> None:
        self.name = name
        self.tmux = tmux
        self.panes: tuple[ViewPane, ...] = ()
        self.problem: str | None = None
        self._sessions: list[str] = []

    @property
    def started_at(self) -> int:
        """Return when this tmux server started; pane ids from before belong to another one."""
        return max((pane.server_started for pane in self.panes), default=0)

    async def list_panes(self) -> None:
        """Ask tmux for its panes; on failure keep the last list and set `problem`."""
        listing = ("list-panes", "-a", "-f", NOT_HUB_FILTER)
        timeout_s = _REMOTE_TIMEOUT_S if self.tmux.is_remote else _TIMEOUT_S
        try:
            async with self.tmux.connection.deadline(timeout_s):
                rows = await self.tmux.connection.list_records(_VIEW_PANE, ViewPane, *listing)
        except NoServer:
            self.panes = ()
            self.problem = f"No tmux server on {self.tmux.socket}. Its panes appear when it starts."
        except MuxpilotError as error:
            self.problem = error.what
        else:
            # A window that is linked into several sessions is listed several times.
            self.panes, self.problem = tuple({row.id: row for row in reversed(rows)}.values())[::-1], None
            self._order_sessions({row.session_id: row.session_used for row in rows})

    def recency_of(self, pane: ViewPane) -> int:
        """Return a number that is larger the later the session of the pane was used.

        Following a pane attaches to its session, which counts as use. Panes are followed in this order, so
        that a plain `tmux attach` still goes to the session that a person used last.
        """
        return self._sessions.index(pane.session_id) if pane.session_id in self._sessions else -1

    def _order_sessions(self, used: Mapping[str, int]) -> None:
        """Order the sessions by last use. tmux gives whole seconds: within one, the known order stays."""
        known = [each for each in self._sessions if each in used]
        self._sessions = sorted(dict.fromkeys([*known, *used]), key=lambda each: used[each])

    def is_named_by(self, socket: str | None) -> bool:
        """Return True if a call with this `socket` was for this server. Paths are those of this machine."""
        if socket is None:
            return self.name == "default"
        is_here = not self.tmux.is_remote
        return socket == self.name or (is_here and _is_same_path(socket, self.tmux.socket))


def pane_to_json(server: ViewServer, pane: ViewPane, *, is_agents: bool) -> dict[str, Any]:
    """Return a pane for the page."""
    return {
        "key": pane_key(server, pane),
        "server": server.name,
        "id": pane.id,
        "place": _clean_name(f"{pane.session_name}:{pane.window_index}.{pane.index}"),
        "window": _clean_name(pane.window_name),
        # The host name is tmux's default title.
        "title": _clean_name(pane.title) if pane.title != pane.host else "",
        "command": _clean_name(pane.current_command),
        "path": _clean_name(pane.current_path),
        "columns": pane.width,
        "rows": pane.height,
        "dead": pane.is_dead,
        "exitCode": pane.exit_code,
        "inMode": pane.in_mode,
        "agents": is_agents,
    }


def pane_key(server: ViewServer, pane: ViewPane) -> str:
    """Return a key that no other pane has; pane ids alone start from %0 again with every tmux server."""
    return f"{server.name} {pane.server_pid} {pane.id}"


def _is_same_path(one: str, other: str) -> bool:
    """Return True if two socket paths are the same file. Agents choose them: one may be no valid path."""
    try:
        return os.path.realpath(one) == os.path.realpath(other)
    except ValueError:
        return False


def _clean_name(text: str) -> str:
    clean = sanitize_text(text[: 2 * _LONGEST_NAME]).replace("\n", " ")
    return clean if len(clean) <= _LONGEST_NAME else f"{clean[:_LONGEST_NAME]}…"
