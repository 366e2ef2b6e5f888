"""The sessions and panes that a call would reach. tmux is asked only when a rule needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muxpilot.errors import NoServer, NotFound
from muxpilot.records import record
from muxpilot.tmux import Pane, PaneId, SessionId, Tmux, Window, WindowId
from muxpilot.tmux.models import PANE, WINDOW
from muxpilot.tmux.own_panes import OwnPanes
from muxpilot.toolkit.spec import Effect, Tool
from muxpilot.workspace import UnopenedPane


@record
class PanePlace:
    """A pane with every name that a rule can use for it."""

    pane: PaneId
    window: WindowId
    sessions: frozenset[SessionId]
    names: frozenset[str]


@record
class ServerMap:
    """All panes and sessions of a tmux server at one moment."""

    places: Mapping[PaneId, PanePlace]
    session_names: Mapping[SessionId, str]

    @classmethod
    async def read(cls, tmux: Tmux) -> ServerMap:
        """Ask tmux for all windows and panes. A server that does not run has none."""
        try:
            windows = await tmux.connection.list_all_records(WINDOW, Window, "list-windows", "-a")
            panes = await tmux.connection.list_all_records(PANE, Pane, "list-panes", "-a")
        except NoServer:
            return cls({}, {})
        return cls(
            {row.id: _place_of(row, windows) for row in panes},
            {row.session_id: row.session_name for row in windows},
        )

    def session(self, session: SessionId) -> frozenset[str]:
        """Return the id and the name of a session."""
        name = self.session_names.get(session)
        if name is None:
            raise NotFound("session", session)
        return frozenset({session, *_usable_names(name)})

    def sessions_of(self, places: Sequence[PanePlace]) -> list[frozenset[str]]:
        """Return, for each pane, the names of all sessions that show it: one of them must be allowed."""
        return [frozenset().union(*(self.session(item) for item in place.sessions)) for place in places]

    def every_session_of(self, places: Sequence[PanePlace]) -> list[frozenset[str]]:
        """Return each session that shows one of these panes: all of them must be allowed."""
        return [self.session(item) for item in sorted({item for place in places for item in place.sessions})]

    def of_window(self, window: WindowId) -> list[PanePlace]:
        """Return the panes of a window."""
        found = [place for place in self.places.values() if place.window == window]
        if not found:
            raise NotFound("window", window)
        return found

    def of_session(self, session: SessionId) -> list[PanePlace]:
        return [place for place in self.places.values() if session in place.sessions]

    def of_pane(self, pane: PaneId) -> PanePlace:
        if pane not in self.places:
            raise NotFound("pane", pane)
        return self.places[pane]


def _usable_names(name: str) -> tuple[str, ...]:
    """Return no name for a session that is named like an id: a rule that names the id must not allow it."""
    return () if not name or SessionId.matches(name) else (name,)


def _place_of(pane: Pane, windows: Sequence[Window]) -> PanePlace:
    rows = [row for row in windows if row.id == pane.window_id]
    names = {str(pane.id)}
    for row in rows:
        window_names = () if row.name.isdigit() or WindowId.matches(row.name) else (row.name,)
        for session in (row.session_id, *_usable_names(row.session_name)):
            names |= {f"{session}:{window}.{pane.index}" for window in (row.index, *window_names, row.id)}
    return PanePlace(pane.id, pane.window_id, frozenset(row.session_id for row in rows), frozenset(names))


@record
class ReachedTargets:
    """The sessions and panes that a call reaches: for each session its id and names, and the panes."""

    sessions: tuple[frozenset[str], ...] = ()
    panes: tuple[PanePlace, ...] = ()


async def find_reached_targets(tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]) -> ReachedTargets:
    """Return the sessions and panes that a call would reach. A call that only reads reaches what it names."""
    map_ = await ServerMap.read(tmux)
    sessions: list[frozenset[str]] = []
    panes: list[PanePlace] = []
    reaches_inside = tool.effect is not Effect.READ or tool.shows_contents
    shown_in = map_.sessions_of if tool.effect is Effect.READ else map_.every_session_of
    planned = arguments.get("pane_id")
    if isinstance(planned, UnopenedPane) and planned.session_id is not None:
        sessions.append(map_.session(planned.session_id))
    for target in target_ids(arguments):
        if isinstance(target, SessionId):
            sessions.append(map_.session(target))
            panes += map_.of_session(target) if reaches_inside else []
        elif isinstance(target, WindowId):
            inside = map_.of_window(target)
            sessions += shown_in(inside)
            panes += inside if reaches_inside else []
        else:
            place = map_.of_pane(target)
            sessions += shown_in([place])
            panes += await _with_synchronized(tool, tmux, map_, place)
    return ReachedTargets((*sessions, *_new_session_names(tool, arguments)), tuple(panes))


def _new_session_names(tool: Tool, arguments: Mapping[str, Any]) -> list[frozenset[str]]:
    """Return the names that a call gives to a session. A session without a name gets an empty set."""
    given = [arguments.get(name) for name in tool.session_names]
    planned = arguments.get("pane_id")
    if isinstance(planned, UnopenedPane) and planned.session_id is None:
        given.append(planned.session_name)
    names = [frozenset(_usable_names(str(name))) for name in given if name is not None]
    return names or ([frozenset()] if makes_session(tool, arguments) else [])


def makes_session(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Return whether a call creates a session: it is its purpose, or it opens the first named pane."""
    planned = arguments.get("pane_id")
    return tool.creates_session or (isinstance(planned, UnopenedPane) and planned.session_id is None)


def target_ids(arguments: Mapping[str, Any]) -> list[SessionId | WindowId | PaneId]:
    """Return all ids of sessions, windows and panes in a call's arguments."""
    found: list[SessionId | WindowId | PaneId] = []
    for value in arguments.values():
        if isinstance(value, UnopenedPane):
            found += [value.dead_pane] if value.dead_pane is not None else []
        items = value if isinstance(value, list) else [value]
        found += [item for item in items if isinstance(item, SessionId | WindowId | PaneId)]
    return found


async def _with_synchronized(tool: Tool, tmux: Tmux, map_: ServerMap, place: PanePlace) -> list[PanePlace]:
    """Return a pane and, if the call types, the panes that are synchronized with it."""
    if tool.effect is not Effect.TYPE:
        return [place]
    return [map_.of_pane(pane) for pane in await tmux.panes.list_synchronized(place.pane)]


def types_into_pane(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Return whether a call types into its pane: always, or because one of its arguments says so."""
    return tool.effect is Effect.TYPE or (tool.types_if is not None and bool(arguments.get(tool.types_if)))


async def find_own_pane(
    tool: Tool, tmux: Tmux, arguments: Mapping[str, Any], own_panes: OwnPanes
) -> PaneId | None:
    """Return the pane that this process runs in, if the call would type into it or end it."""
    is_typed = types_into_pane(tool, arguments)
    if not is_typed and tool.effect is not Effect.DESTROY:
        return None
    own = await own_panes.find(tmux)
    if own is None:
        return None
    for target in target_ids(arguments):
        if target == own or (not isinstance(target, PaneId) and target in await _containers_of(tmux, own)):
            return own
        if is_typed and isinstance(target, PaneId) and own in await tmux.panes.list_synchronized(target):
            return own
    return None


async def _containers_of(tmux: Tmux, pane: PaneId) -> frozenset[str]:
    """Return the ids of a pane's window and of every session that shows it."""
    ask = ("list-panes", "-a", "-f", f"#{{==:#{{pane_id}},{pane}}}", "-F", "#{window_id} #{session_id}")
    lines = (await tmux.connection.run(ask, repeatable=True)).blocks[0].lines
    return frozenset(word for line in lines for word in line.decode("ascii", "replace").split(" "))
