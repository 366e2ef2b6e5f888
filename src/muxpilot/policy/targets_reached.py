"""What a call would reach: the sessions and panes behind its ids, asked of tmux when a rule needs them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from muxpilot.errors import NoServer, NotFound
from muxpilot.records import record
from muxpilot.tmux import Pane, PaneId, SessionId, Tmux, Window, WindowId
from muxpilot.tmux.models import PANE, WINDOW
from muxpilot.toolkit.spec import Effect, Tool

# Readers that show a whole, so that a part which is not allowed would show with it.
_WHOLE = frozenset({"session-tree", "window-info"})


@record
class Place:
    """A pane with every name that a rule may call it by."""

    pane: PaneId
    window: WindowId
    sessions: frozenset[SessionId]
    names: frozenset[str]


@record
class Map:
    """One moment of a tmux server."""

    places: Mapping[PaneId, Place]
    session_names: Mapping[SessionId, str]

    @classmethod
    async def of(cls, tmux: Tmux) -> Map:
        try:
            windows = await tmux.connection.every_record(WINDOW, Window, "list-windows", "-a")
            panes = await tmux.connection.every_record(PANE, Pane, "list-panes", "-a")
        except NoServer:
            return cls({}, {})
        return cls(
            {row.id: _place(row, windows) for row in panes},
            {row.session_id: row.session_name for row in windows},
        )

    def session(self, session: SessionId) -> frozenset[str]:
        name = self.session_names.get(session)
        if name is None:
            raise NotFound("session", session)
        return frozenset({session, *_names(name)})

    def sessions_of(self, places: Sequence[Place]) -> list[frozenset[str]]:
        """One of the sessions that show a pane must be allowed, for each pane."""
        return [frozenset().union(*(self.session(item) for item in place.sessions)) for place in places]

    def every_session_of(self, places: Sequence[Place]) -> list[frozenset[str]]:
        """All sessions that show these panes must be allowed."""
        return [self.session(item) for item in sorted({item for place in places for item in place.sessions})]

    def of_window(self, window: WindowId) -> list[Place]:
        found = [place for place in self.places.values() if place.window == window]
        if not found:
            raise NotFound("window", window)
        return found

    def of_session(self, session: SessionId) -> list[Place]:
        return [place for place in self.places.values() if session in place.sessions]

    def of_pane(self, pane: PaneId) -> Place:
        if pane not in self.places:
            raise NotFound("pane", pane)
        return self.places[pane]


def _names(name: str) -> tuple[str, ...]:
    """A session that is named like an id is not that session."""
    return () if not name or SessionId.matches(name) else (name,)


def _place(pane: Pane, windows: Sequence[Window]) -> Place:
    rows = [row for row in windows if row.id == pane.window_id]
    names = {str(pane.id)}
    for row in rows:
        window_names = () if row.name.isdigit() or WindowId.matches(row.name) else (row.name,)
        for session in (row.session_id, *_names(row.session_name)):
            names |= {f"{session}:{window}.{pane.index}" for window in (row.index, *window_names, row.id)}
    return Place(pane.id, pane.window_id, frozenset(row.session_id for row in rows), frozenset(names))


@record
class Reach:
    sessions: tuple[frozenset[str], ...] = ()
    panes: tuple[Place, ...] = ()


async def reach(tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]) -> Reach:
    """Sessions and panes behind all targets of a call; what only reads reaches no more than it names."""
    map_ = await Map.of(tmux)
    sessions: list[frozenset[str]] = []
    panes: list[Place] = []
    is_whole = tool.effect is not Effect.READ or tool.name in _WHOLE
    shown_in = map_.sessions_of if tool.effect is Effect.READ else map_.every_session_of
    for target in targets(arguments):
        if isinstance(target, SessionId):
            sessions.append(map_.session(target))
            panes += map_.of_session(target) if is_whole else []
        elif isinstance(target, WindowId):
            inside = map_.of_window(target)
            sessions += shown_in(inside)
            panes += inside if is_whole else []
        else:
            place = map_.of_pane(target)
            sessions += shown_in([place])
            panes += await _with_synchronized(tool, tmux, map_, place)
    if makes_session(tool, arguments):
        sessions.append(frozenset(_names(str(arguments.get("name") or ""))))
    if tool.name == "rename-session":
        wanted = [name for name in (arguments.get("new_name"), arguments.get("name")) if name is not None]
        sessions += [frozenset(_names(str(name))) for name in wanted]
    return Reach(tuple(sessions), tuple(panes))


def makes_session(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """create-session, and what opens a session for want of a pane."""
    if tool.name == "create-session":
        return True
    takes_pane = any(argument.name == "pane_id" for argument in tool.arguments)
    return tool.effect is Effect.TYPE and takes_pane and arguments.get("pane_id") is None


def targets(arguments: Mapping[str, Any]) -> list[SessionId | WindowId | PaneId]:
    found: list[SessionId | WindowId | PaneId] = []
    for value in arguments.values():
        items = value if isinstance(value, list) else [value]
        found += [item for item in items if isinstance(item, SessionId | WindowId | PaneId)]
    return found


async def _with_synchronized(tool: Tool, tmux: Tmux, map_: Map, place: Place) -> list[Place]:
    """What is typed into one of several synchronized panes reaches them all."""
    if tool.effect is not Effect.TYPE:
        return [place]
    return [map_.of_pane(pane) for pane in await synchronized(tmux, place.pane)]


async def synchronized(tmux: Tmux, pane: PaneId) -> list[PaneId]:
    """The pane, and those that get the same keys."""
    ask = ("list-panes", "-t", pane, "-F", "#{pane_id} #{pane_synchronized}")
    lines = (await tmux.connection.run(ask, repeatable=True)).blocks[0].lines
    rows = dict(line.decode("ascii", "replace").split(" ", 1) for line in lines)
    if rows.get(pane) != "1":
        return [pane]
    return [PaneId(name) for name, is_on in rows.items() if is_on == "1"]


async def own_pane_reached(
    tool: Tool, tmux: Tmux, arguments: Mapping[str, Any], environment: Mapping[str, str]
) -> PaneId | None:
    """The pane that this very process runs in, if the call would type into it or end it."""
    if tool.effect not in (Effect.TYPE, Effect.DESTROY):
        return None
    own = _own_pane(tmux, environment)
    if own is None:
        return None
    for target in targets(arguments):
        if target == own or (not isinstance(target, PaneId) and target in await _around(tmux, own)):
            return own
        if (
            tool.effect is Effect.TYPE
            and isinstance(target, PaneId)
            and own in await synchronized(tmux, target)
        ):
            return own
    return None


async def _around(tmux: Tmux, pane: PaneId) -> frozenset[str]:
    """The window of a pane, and every session that shows it."""
    ask = ("list-panes", "-a", "-f", f"#{{==:#{{pane_id}},{pane}}}", "-F", "#{window_id} #{session_id}")
    lines = (await tmux.connection.run(ask, repeatable=True)).blocks[0].lines
    return frozenset(word for line in lines for word in line.decode("ascii", "replace").split(" "))


def _own_pane(tmux: Tmux, environment: Mapping[str, str]) -> PaneId | None:
    socket, pane = environment.get("TMUX", "").partition(",")[0], environment.get("TMUX_PANE", "")
    if not socket or not PaneId.matches(pane) or os.path.realpath(socket) != os.path.realpath(tmux.socket):
        return None
    return PaneId(pane)
