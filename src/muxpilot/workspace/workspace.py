"""One workspace on one tmux server: find its session and its named panes, and open those that are missing.

All state is in tmux, so a restarted muxpilot and several muxpilots at once see the same. Nothing is locked
between processes. tmux decides who is first: a session's name is unique, and `marks.claim_command` gives a
pane's name to one pane only. A muxpilot that comes second looks again and uses what the first has made.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence

from muxpilot.errors import NameTaken, NoServer, NotFound, Refused
from muxpilot.records import record
from muxpilot.tmux import CreatedPane, PaneId, PaneProgram, SessionId, Tmux
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.trace import area
from muxpilot.workspace import marks
from muxpilot.workspace.identity import WorkspaceIdentity
from muxpilot.workspace.marks import MarkedPane, MarkedSession
from muxpilot.workspace.names import session_name_for

WIDTH, HEIGHT = 200, 50

# Programs print their whole text, instead of waiting for keys in a pager.
PLAIN_PAGERS = dict.fromkeys(("PAGER", "GIT_PAGER", "SYSTEMD_PAGER", "MANPAGER"), "cat")

# Each try fails only if another process has changed the workspace meanwhile.
_TRIES = 8

_trace = area("workspace")


@record
class UnopenedPane:
    """A named pane that a call would open. Policy judges it before it is opened.

    `session_name` is that of the workspace, and `session_id` its id, if it exists. `dead_pane` has the name
    already, but its program has ended; it is started again.
    """

    name: str
    session_name: str
    session_id: SessionId | None = None
    dead_pane: PaneId | None = None

    def __str__(self) -> str:
        return self.name


@record
class OpenedPane:
    """A named pane. `is_new`: its program has just been started."""

    id: PaneId
    name: str
    is_new: bool


@record
class WorkspaceView:
    """The workspace at one moment. `session` is None if it does not exist; `taken` are names in use."""

    session: MarkedSession | None
    panes: Mapping[str, MarkedPane]
    taken: frozenset[str]

    @property
    def live_names(self) -> list[str]:
        return sorted(name for name, pane in self.panes.items() if not pane.is_dead)


class Workspace:
    """The workspace of one tmux server. It is created when its first pane is opened."""

    def __init__(
        self,
        tmux: Tmux,
        identity: WorkspaceIdentity,
        *,
        has_plain_pagers: bool,
        idle_limit_s: float | None = None,
    ) -> None:
        self._tmux = tmux
        self._identity = identity
        self._idle_limit_s = idle_limit_s
        self._environment = PLAIN_PAGERS if has_plain_pagers else {}
        self._folder_key = identity.folder_key(is_remote=tmux.is_remote)
        self._opening = asyncio.Lock()
        # Panes by name, as they were found last. tmux is asked each time whether that is still true: one pane
        # is found in the same time on a server with many panes.
        self._last_found: dict[str, MarkedPane] = {}
        self._trace = _trace.child(server=tmux.socket)

    async def view(self) -> WorkspaceView:
        """Ask tmux for the workspace. A server that does not run has none."""
        connection = self._tmux.connection
        try:
            sessions, panes = await asyncio.gather(
                marks.list_sessions(connection), marks.list_marked_panes(connection)
            )
        except NoServer:
            return WorkspaceView(None, {}, frozenset())
        session = self._find_session(sessions)
        named = {} if session is None else _named_panes(panes, session.id)
        marked = {row.workspace[0] for row in sessions if row.workspace is not None}
        return WorkspaceView(session, named, frozenset({row.name for row in sessions} | marked))

    def _find_session(self, sessions: Sequence[MarkedSession]) -> MarkedSession | None:
        """Find the session by its mark: a person may have renamed it."""
        for row in sessions:
            if row.workspace is None:
                continue
            name, folder = row.workspace
            if name == self._identity.name or (self._identity.name is None and folder == self._folder_key):
                return row
        return None

    async def set_idle_limit(self) -> None:
        """Give a workspace that exists the limit of this muxpilot's configuration, if that has one."""
        if self._idle_limit_s is None:
            return
        session = (await self.view()).session
        if session is not None:
            from muxpilot.tmux.objects.idle_limit import idle_limit_command

            await self._tmux.connection.run(idle_limit_command(session.id, self._idle_limit_s))

    async def plan(self, name: str) -> PaneId | UnopenedPane:
        """Return the pane with this name, or what would be opened for it."""
        known = self._last_found.get(name)
        if known is not None and await marks.is_alive_and_marked(self._tmux.connection, known):
            return known.id
        view = await self.view()
        found = view.panes.get(name)
        if found is not None and not found.is_dead:
            self._last_found[name] = found
            return found.id
        dead = found.id if found is not None and not found.is_closing else None
        if view.session is not None:
            return UnopenedPane(name, view.session.name, view.session.id, dead)
        return UnopenedPane(name, session_name_for(next(self._identity.names(view.taken), name)))

    async def open(
        self, name: str, *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> OpenedPane:
        """Return the pane with this name. If there is none, open it; if its program has ended, start a shell.

        `cwd` and `env` apply only to what is started.
        """
        program = PaneProgram(None, cwd or self._default_folder(), {**self._environment, **(env or {})})
        async with self._opening:
            for _ in range(_TRIES):
                opened = await self._try_open(name, program)
                if opened is not None:
                    self._trace.debug("named pane opened", pane=opened.id, is_new=opened.is_new)
                    return opened
        raise Refused(
            f"The pane {name!r} could not be opened: the workspace changes meanwhile.", "Try again."
        )

    def _default_folder(self) -> str | None:
        """Return the folder of muxpilot. On another host it means nothing, and it may have been removed."""
        is_usable = not self._tmux.is_remote and os.path.isdir(self._identity.folder)
        return self._identity.folder if is_usable else None

    async def _try_open(self, name: str, program: PaneProgram) -> OpenedPane | None:
        """Return the pane, or None if another process has changed the workspace meanwhile."""
        view = await self.view()
        found = view.panes.get(name)
        if found is not None and not found.is_dead:
            return OpenedPane(found.id, name, is_new=False)
        try:
            if found is not None and not found.is_closing:
                return await self._start_again(found.id, name, program)
            if found is not None:
                await self._tmux.connection.run(marks.unmark_command(found.id))
            return OpenedPane((await self._create(view, name, program)).pane_id, name, is_new=True)
        except (NameTaken, NotFound) as error:
            self._trace.debug("workspace has changed", error=error.code)
        except Refused as error:
            if not marks.is_name_taken(error):
                raise
            self._trace.debug("another muxpilot has opened the pane")
        return None

    async def _start_again(self, pane: PaneId, name: str, program: PaneProgram) -> OpenedPane | None:
        try:
            await self._tmux.windows.respawn(pane, cwd=program.cwd, env=program.env)
        except Refused:
            if (await self._tmux.panes.get(pane)).is_dead:
                raise
            return None  # another muxpilot has started its program
        return OpenedPane(pane, name, is_new=True)

    async def _create(self, view: WorkspaceView, name: str, program: PaneProgram) -> CreatedPane:
        """Open a window in the workspace, or create the workspace with this window."""

        def claim(pane: CreatedPane) -> Command:
            """Return the command that takes the name for a new pane, before its program starts."""
            return marks.claim_command(pane.pane_id, pane.session_id, name)

        if view.session is not None:
            windows = self._tmux.windows
            return await windows.create(view.session.id, name=name, program=program, claim=claim)
        workspace = next(self._identity.names(view.taken), None)
        if workspace is None:
            raise Refused(
                f"The session {self._identity.name!r} exists, and is not a workspace of muxpilot.",
                "Start muxpilot with another --workspace, or rename that session.",
            )
        session = session_name_for(workspace)
        self._trace.debug("workspace created", session=session)
        return await self._tmux.sessions.create_new(
            session,
            window_name=name,
            width=WIDTH,
            height=HEIGHT,
            program=program,
            marks=(
                marks.mark_session_command(session, workspace, self._folder_key),
                *marks.forget_variables_commands(session, program.env or {}),
                *self._idle_limit_commands(session),
            ),
            claim=claim,
        )

    def _idle_limit_commands(self, session_name: str) -> tuple[Command, ...]:
        if self._idle_limit_s is None:
            return ()
        from muxpilot.tmux.objects.idle_limit import idle_limit_command_by_name

        return (idle_limit_command_by_name(session_name, self._idle_limit_s),)


def _named_panes(panes: Sequence[MarkedPane], session: SessionId) -> dict[str, MarkedPane]:
    """Return the panes of a workspace by their names. Of two with one name, the older one counts."""
    found: dict[str, MarkedPane] = {}
    for pane in panes:
        name = pane.name_in(session)
        if name is not None:
            found.setdefault(name, pane)
    return found
