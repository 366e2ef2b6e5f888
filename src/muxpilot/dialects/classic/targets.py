"""tmux's own targets, found exactly: `session`, `session:window`, `session:window.pane`, `$1`, `@2`, `%3`.

As in tmux, a part of a place stands for it and for what is around it: `%3` where a window is wanted is the
window of that pane. What is not there is told as tmux tells it, by the part that was not found.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import TypeVar

from muxpilot.errors import Ambiguous, NoServer, NotFound
from muxpilot.tmux import ListedPane, PaneId, SessionId, Tmux, Window, WindowId
from muxpilot.tmux.connection.failures import server_is_gone

Row = TypeVar("Row", Window, ListedPane)
Anything = TypeVar("Anything")


async def there(listing: Awaitable[Sequence[Anything]]) -> Sequence[Anything]:
    """What a server lists: one that runs without a session (`exit-empty off`) has nothing."""
    try:
        return await listing
    except NoServer as error:
        if not error.words or server_is_gone(error.words):
            raise
        return []


async def session(tmux: Tmux, text: str) -> SessionId:
    found = await _found(tmux, text, "session")
    return found.session_id if isinstance(found, ListedPane | Window) else found


async def home(tmux: Tmux, text: str) -> SessionId:
    """The session of a new window: tmux looks for a place among windows, and says so."""
    found = await _found(tmux, text, "window")
    return found.session_id if isinstance(found, ListedPane | Window) else found


async def window(tmux: Tmux, text: str) -> WindowId:
    found = await _found(tmux, text, "window")
    if isinstance(found, SessionId):
        return next(row.id for row in await tmux.windows.list(found) if row.is_active)
    return found.window_id if isinstance(found, ListedPane) else found.id


async def pane(tmux: Tmux, text: str) -> PaneId:
    found = await _found(tmux, text, "pane")
    if isinstance(found, SessionId):
        return next(row.active_pane_id for row in await tmux.windows.list(found) if row.is_active)
    return found.id if isinstance(found, ListedPane) else found.active_pane_id


async def place(tmux: Tmux, text: str) -> SessionId | WindowId:
    """A session, or else the window that a target means."""
    found = await _found(tmux, text, "window")
    if isinstance(found, SessionId):
        return found
    return found.window_id if isinstance(found, ListedPane) else found.id


async def _found(tmux: Tmux, text: str, noun: str) -> SessionId | Window | ListedPane:
    """`noun` is what tmux would say that it cannot find, where the target has one part only."""
    windows = await there(tmux.windows.list())
    if PaneId.matches(text):
        return _one([row for row in await there(tmux.panes.list()) if row.id == text], "pane", text)
    if WindowId.matches(text):
        return _one([row for row in windows if row.id == text], "window", text)
    home, rest = _home(windows, text, noun)
    if not rest:
        return home
    inside = [row for row in windows if row.session_id == home]
    return await _inside(tmux, inside, rest)


def _home(windows: Sequence[Window], text: str, noun: str) -> tuple[SessionId, str]:
    """The session of a target, and what follows it; the longest name that fits wins."""
    wanted = text.removeprefix("=")
    places = {row.session_id: row.session_id for row in windows} | {
        row.session_name: row.session_id for row in windows
    }
    fitting = [name for name in places if f"{wanted}:".startswith(f"{name}:")]
    if not fitting:
        missing, colon, _ = wanted.partition(":")
        raise NotFound("session" if colon or SessionId.matches(text) else noun, missing)
    name = max(fitting, key=len)
    return places[name], wanted[len(name) + 1 :]


async def _inside(tmux: Tmux, windows: Sequence[Window], rest: str) -> Window | ListedPane:
    exact = [row for row in windows if rest in (row.id, str(row.index), row.name)]
    head, dot, tail = rest.rpartition(".")
    if exact or not dot:
        return _one(_preferred(exact, rest), "window", rest)
    fitting = [row for row in windows if head in (row.id, str(row.index), row.name)]
    home = _one(_preferred(fitting, head), "window", head)
    panes = await tmux.panes.list(home.id)
    found = _one([row for row in panes if tail in (row.id, str(row.index))], "pane", tail)
    return replace(found, session_id=home.session_id)  # of the sessions that show it, the one that was named


def _preferred(rows: Sequence[Window], text: str) -> Sequence[Window]:
    """An id or index wins over a name that looks like one."""
    return [row for row in rows if text in (row.id, str(row.index))] or rows


def _one(rows: Sequence[Row], noun: str, wanted: str) -> Row:
    if not rows:
        raise NotFound(noun, wanted)
    if len({row.id for row in rows}) > 1:
        raise Ambiguous(f"{wanted!r} is the name of several {noun}s.", "Use an id.")
    return rows[0]
