"""The workspaces of a muxpilot, one on each tmux server, and what a pane's name means there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from muxpilot.config.workspace_name import is_name
from muxpilot.errors import MuxpilotError, NoServer, NotFound
from muxpilot.tmux import PaneId, SessionId, Tmux
from muxpilot.workspace.identity import WorkspaceIdentity
from muxpilot.workspace.marks import list_workspaces
from muxpilot.workspace.names import MAIN, workspace_name_for
from muxpilot.workspace.workspace import OpenedPane, UnopenedPane, Workspace, WorkspaceView

_MOST_LISTED = 20
_MOST_KEPT = 4096
# An id of tmux, or a target such as `session:window.pane`.
_TARGET = re.compile(r"[$@%=]|.*:", re.DOTALL)
_HOW_TO_NAME = (
    "Use list-panes to see the panes there are. The name of a new pane has at most 64 letters, digits, -, _ "
    "and ., and begins with a letter, a digit or _."
)


class _KnownNames:
    """The names of panes while one tmux server lives; None for a pane without one. Another reuses the ids."""

    def __init__(self, server_pid: int | None) -> None:
        self.server_pid = server_pid
        self.names: dict[PaneId, str | None] = {}


class Workspaces:
    """Resolves the names of panes, and opens panes, on all tmux servers."""

    def __init__(
        self,
        identity: WorkspaceIdentity,
        *,
        has_plain_pagers: bool = True,
        idle_limit_s: float | None = None,
    ) -> None:
        self._identity = identity
        self._has_plain_pagers = has_plain_pagers
        self._idle_limit_s = idle_limit_s
        self._by_socket: dict[str, Workspace] = {}
        self._known: dict[str, _KnownNames] = {}

    @property
    def name(self) -> str:
        """Return the name of the workspace for people. It may have a number besides on a server."""
        return self._identity.name or workspace_name_for(self._identity.folder)

    def on(self, tmux: Tmux) -> Workspace:
        """Return the workspace of a server."""
        found = self._by_socket.get(tmux.socket)
        if found is None:
            found = Workspace(
                tmux,
                self._identity,
                has_plain_pagers=self._has_plain_pagers,
                idle_limit_s=self._idle_limit_s,
            )
            self._by_socket[tmux.socket] = found
        return found

    async def resolve_pane(self, tmux: Tmux, text: str, *, may_open: bool = False) -> PaneId | UnopenedPane:
        """Return the pane that a caller means by an id, a name or a target.

        The workspace comes before sessions. `main` is never a session, because a call that names no pane
        means it. With `may_open`, return a pane that is still to be opened where a name means none;
        otherwise raise NotFound, with the names that there are.
        """
        if not is_name(text):
            return await self._resolve_other(tmux, text, may_open=may_open)
        planned = await self.on(tmux).plan(text)
        if isinstance(planned, PaneId):
            self._note(tmux, planned, text)
            return planned
        if planned.dead_pane is not None:
            return planned if may_open else planned.dead_pane
        if text != MAIN:
            try:
                return await tmux.targets.resolve_pane(text)
            except (NotFound, NoServer):
                pass
        if may_open:
            return planned
        raise NotFound("pane", text, hint=await self._describe_panes(tmux))

    async def _resolve_other(self, tmux: Tmux, text: str, *, may_open: bool) -> PaneId:
        """Return the pane of an id, a target or a session, or say what a new pane can be called."""
        try:
            return await tmux.targets.resolve_pane(text)
        except (NotFound, NoServer):
            if not may_open or not text.strip() or _TARGET.match(text):
                raise
            raise NotFound("pane", text, hint=_HOW_TO_NAME) from None

    async def _describe_panes(self, tmux: Tmux) -> str:
        """Say which named panes there are. Where the policy hides panes, do not name them."""
        names = [] if tmux.connection.hides_records else (await self.on(tmux).view()).live_names
        more = ", …" if len(names) > _MOST_LISTED else ""
        named = f"; those with names are: {', '.join(names[:_MOST_LISTED])}{more}" if names else ""
        return f"Use list-panes to see the panes there are{named}."

    async def open(
        self, tmux: Tmux, name: str, *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> OpenedPane:
        """Return the pane with this name, and open it if needed."""
        opened = await self.on(tmux).open(name, cwd=cwd, env=env)
        self._note(tmux, opened.id, name)
        return opened

    async def name_of(self, tmux: Tmux, pane: PaneId) -> str | None:
        """Return the name of a pane in the workspace, or None. tmux is asked once for each pane."""
        return (await self.names_of(tmux, (pane,))).get(pane)

    async def names_of(self, tmux: Tmux, panes: Iterable[PaneId]) -> Mapping[PaneId, str | None]:
        """Return the names of panes in the workspace, as `name_of` does."""
        known, panes = self._names_of(tmux), tuple(panes)
        if any(pane not in known for pane in panes):
            try:
                view = await self.on(tmux).view()
            except MuxpilotError:
                return {}  # tmux cannot be asked; the call itself reports that
            self._note_all(tmux, view)
            known = self._names_of(tmux)
            for pane in panes:
                known.setdefault(pane, None)
        return known

    async def list_all(self, tmux: Tmux) -> tuple[Mapping[SessionId, str], Mapping[PaneId, str]]:
        """Return the names of all workspaces by their sessions, and of their panes, also of other agents."""
        return await list_workspaces(tmux.connection)

    def _note_all(self, tmux: Tmux, view: WorkspaceView) -> None:
        for name, marked in view.panes.items():
            self._note(tmux, marked.id, name)

    def _note(self, tmux: Tmux, pane: PaneId, name: str) -> None:
        self._names_of(tmux)[pane] = name

    def _names_of(self, tmux: Tmux) -> dict[PaneId, str | None]:
        pid, known = tmux.connection.server_pid, self._known.get(tmux.socket)
        if known is None or known.server_pid != pid or len(known.names) > _MOST_KEPT:
            self._known[tmux.socket] = known = _KnownNames(pid)
        return known.names
