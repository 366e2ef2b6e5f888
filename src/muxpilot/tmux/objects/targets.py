"""Resolve targets that a caller writes to tmux's ids, exactly: `dev` never means `develop`.

A target is an id (`$1`, `@2`, `%3`), a session's name, or `session:window.pane` with names or numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from muxpilot.errors import Ambiguous, BadInput, NotFound
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.models import ListedPane, Window
from muxpilot.tmux.objects.panes import Panes
from muxpilot.tmux.objects.windows import Windows


class Targets:
    """Resolves the targets of one server."""

    def __init__(self, connection: Connection, windows: Windows, panes: Panes) -> None:
        self._connection = connection
        self._windows = windows
        self._panes = panes

    async def resolve_session(self, text: str) -> SessionId:
        """Return the id of the session with this id or exact name."""
        if self._is_id(SessionId, text):
            return SessionId(text)
        sessions = {row.session_name: row.session_id for row in await self._windows.list()}
        for name in (text, text.removeprefix("="), text.removeprefix("=").removesuffix(":")):
            if name in sessions:
                return sessions[name]
        raise NotFound("session", text)

    async def resolve_window(self, text: str) -> WindowId:
        """Return the id of a window given as `@2`, `session` or `session:window`."""
        if self._is_id(WindowId, text):
            return WindowId(text)
        return _find_window(await self._windows.list(), text, text).id

    async def resolve_pane(self, text: str) -> PaneId:
        """Return the id of a pane given as `%3`, `session`, `session:window` or `session:window.pane`."""
        if self._is_id(PaneId, text):
            return PaneId(text)
        windows, (place, pane) = await self._windows.list(), _split_pane(text)
        try:
            return _find_window(windows, text, text).active_pane_id
        except NotFound:
            if pane is None:
                raise NotFound("pane", text) from None
        try:
            window = _find_window(windows, place, text)
        except NotFound:
            raise NotFound("pane", text) from None
        return _find_pane(await self._panes.list(window.id), pane, text)

    def _is_id(self, kind: type[SessionId | WindowId | PaneId], text: str) -> bool:
        """Return whether the text is an id, which needs no lookup. Hide the ids of our own hub session."""
        if not text.strip(":.= "):
            raise BadInput(f"The {kind.noun} is empty.", f"Give an id, or a name from list-{kind.noun}s.")
        if self._connection.is_part_of_hub(text):
            raise NotFound(kind.noun, text)
        return kind.matches(text)


def _split_pane(text: str) -> tuple[str, str | None]:
    place, dot, pane = text.rpartition(".")
    return (place, pane) if dot and ":" in place else (text, None)


def _find_window(windows: Sequence[Window], text: str, wanted: str) -> Window:
    """Find a window by `session` or `session:window`. The longest session name that fits wins.

    A session alone means its current window.
    """
    for spelling in (text, text.removeprefix("=")):
        place = _match_session(windows, spelling)
        if place is not None:
            return _find_in_session(_windows_of_session(windows, place), spelling[len(place) + 1 :], wanted)
    raise NotFound("window", wanted)


def _match_session(windows: Sequence[Window], text: str) -> str | None:
    places = {place for row in windows for place in (row.session_id, row.session_name)}
    return max((place for place in places if f"{text}:".startswith(f"{place}:")), key=len, default=None)


def _windows_of_session(windows: Sequence[Window], place: str) -> Sequence[Window]:
    by_id = [row for row in windows if row.session_id == place]
    return by_id or [row for row in windows if row.session_name == place]


def _find_in_session(windows: Sequence[Window], text: str, wanted: str) -> Window:
    if not text:
        return next(row for row in windows if row.is_active)
    exact = [row for row in windows if text in (row.id, str(row.index))]
    return _require_one(exact or [row for row in windows if text == row.name], wanted)


def _require_one(rows: Sequence[Window], wanted: str) -> Window:
    if not rows:
        raise NotFound("window", wanted)
    if len(rows) > 1:
        ids = ", ".join(row.id for row in rows)
        raise Ambiguous(f"{wanted!r} is the name of several windows: {ids}.", "Use an id.")
    return rows[0]


def _find_pane(panes: Sequence[ListedPane], text: str, wanted: str) -> PaneId:
    for row in panes:
        if text in (row.id, str(row.index)):
            return row.id
    raise NotFound("pane", wanted)
