"""tmux's own targets, matched exactly: `session`, `session:window`, `session:window.pane`, `$1`, `@2`, `%3`.

As in tmux, a target may name a part of what is wanted, or what is around it: where a window is wanted, `%3`
means the window of that pane. Errors name the part that was not found, in tmux's words.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import TypeVar

from muxpilot.errors import Ambiguous, NoServer, NotFound
from muxpilot.tmux import ListedPane, PaneId, SessionId, Tmux, Window, WindowId
from muxpilot.tmux.connection.failures import is_server_gone

Row = TypeVar("Row", Window, ListedPane)
Item = TypeVar("Item")


async def list_or_empty(listing: Awaitable[Sequence[Item]]) -> Sequence[Item]:
    """Return what a server lists, or nothing for one that runs without a session (`exit-empty off`)."""
    try:
        return await listing
    except NoServer as error:
        if not error.tmux_message or is_server_gone(error.tmux_message):
            raise
        return []


async def find_session(tmux: Tmux, text: str) -> SessionId:
    found = await _find(tmux, text, "session")
    return found.session_id if isinstance(found, ListedPane | Window) else found


async def find_session_for_window(tmux: Tmux, text: str) -> SessionId:
    """Return the session for a new window. tmux looks for a window here, and its errors say so."""
    found = await _find(tmux, text, "window")
    return found.session_id if isinstance(found, ListedPane | Window) else found


async def find_window(tmux: Tmux, text: str) -> WindowId:
    """Return a window: for a session its current one, for a pane the one around it."""
    found = await _find(tmux, text, "window")
    if isinstance(found, SessionId):
        return next(row.id for row in await tmux.windows.list(found) if row.is_active)
    return found.window_id if isinstance(found, ListedPane) else found.id


async def find_pane(tmux: Tmux, text: str) -> PaneId:
    """Return a pane: for a session or a window its active one."""
    found = await _find(tmux, text, "pane")
    if isinstance(found, SessionId):
        return next(row.active_pane_id for row in await tmux.windows.list(found) if row.is_active)
    return found.id if isinstance(found, ListedPane) else found.active_pane_id


async def find_session_or_window(tmux: Tmux, text: str) -> SessionId | WindowId:
    """Return the session that a target names, else its window."""
    found = await _find(tmux, text, "window")
    if isinstance(found, SessionId):
        return found
    return found.window_id if isinstance(found, ListedPane) else found.id


async def _find(tmux: Tmux, text: str, noun: str) -> SessionId | Window | ListedPane:
    """Find a target. `noun` is what tmux's error names for a target that has only one part."""
    windows = await list_or_empty(tmux.windows.list())
    if PaneId.matches(text):
        panes = await list_or_empty(tmux.panes.list())
        return _require_one([row for row in panes if row.id == text], "pane", text)
    if WindowId.matches(text):
        return _require_one([row for row in windows if row.id == text], "window", text)
    session, rest = _split_session(windows, text, noun)
    if not rest:
        return session
    inside = [row for row in windows if row.session_id == session]
    return await _find_inside(tmux, inside, rest)


def _split_session(windows: Sequence[Window], text: str, noun: str) -> tuple[SessionId, str]:
    """Return the session of a target and the text after it. The longest name that matches wins."""
    wanted = text.removeprefix("=")
    places = {row.session_id: row.session_id for row in windows} | {
        row.session_name: row.session_id for row in windows
    }
    matching = [name for name in places if f"{wanted}:".startswith(f"{name}:")]
    if not matching:
        missing, colon, _ = wanted.partition(":")
        raise NotFound("session" if colon or SessionId.matches(text) else noun, missing)
    name = max(matching, key=len)
    return places[name], wanted[len(name) + 1 :]


async def _find_inside(tmux: Tmux, windows: Sequence[Window], rest: str) -> Window | ListedPane:
    exact = [row for row in windows if rest in (row.id, str(row.index), row.name)]
    head, dot, tail = rest.rpartition(".")
    if exact or not dot:
        return _require_one(_prefer_ids(exact, rest), "window", rest)
    matching = [row for row in windows if head in (row.id, str(row.index), row.name)]
    window = _require_one(_prefer_ids(matching, head), "window", head)
    panes = await tmux.panes.list(window.id)
    found = _require_one([row for row in panes if tail in (row.id, str(row.index))], "pane", tail)
    return replace(found, session_id=window.session_id)  # several sessions may show it: keep the one named


def _prefer_ids(rows: Sequence[Window], text: str) -> Sequence[Window]:
    """Return the windows with this id or index, else all: a name may look like an index."""
    return [row for row in rows if text in (row.id, str(row.index))] or rows


def _require_one(rows: Sequence[Row], noun: str, wanted: str) -> Row:
    if not rows:
        raise NotFound(noun, wanted)
    if len({row.id for row in rows}) > 1:
        raise Ambiguous(f"{wanted!r} is the name of several {noun}s.", "Use an id.")
    return rows[0]
