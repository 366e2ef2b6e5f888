"""What agents have left behind: sessions and dead panes whose muxpilot is gone and that nothing uses.

A session or pane is left behind only if no line of the table holds. What cannot be known counts as in use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from muxpilot.app import App
from muxpilot.cli.application import call_for_data
from muxpilot.idle_sessions.running_programs import find_running_program
from muxpilot.journal.owners import OwnerState
from muxpilot.processes.proc import PROC, find_stat
from muxpilot.records import record
from muxpilot.tmux import PaneId
from muxpilot.tmux.objects.idle_limit import list_attached_people, read_clock
from muxpilot.tmux.objects.owner import Owner
from muxpilot.tmux.objects.owner_marks import (
    PaneWithOwner,
    list_control_processes,
    list_panes_with_owners,
    read_session_owner,
)
from muxpilot.tools.sessions import list_sessions

_RECENTLY_S = 3600.0


@record
class Leftover:
    """A session or a pane of a muxpilot. `kept_because` is why it is not ended, or an empty text.

    `processes` are those that needed more than SIGHUP, as kill-session answers them.
    """

    kind: str
    id: str
    name: str
    kept_because: str
    processes: tuple[Mapping[str, Any], ...] = ()


@record
class _Facts:
    """The facts of a session that a muxpilot created, or of a dead pane in a session that stays."""

    owner: Owner
    people: int
    panes: Sequence[PaneWithOwner]
    running: str | None  # the name of a program
    used_by_living: frozenset[PaneId]
    has_other_muxpilots: bool
    now: int

    @property
    def is_recent(self) -> bool:
        newest = max((pane.activity for pane in self.panes), default=0)
        return self.now - newest < _RECENTLY_S


def _has_living_user(facts: _Facts) -> bool:
    return any(pane.id in facts.used_by_living for pane in facts.panes)


# Why a session stays: the reason, and when it holds.
_REASONS: tuple[tuple[str, Callable[[_Facts], bool]], ...] = (
    (
        "it was created on another machine or in a container, so it is not known whether its muxpilot runs",
        lambda facts: not facts.owner.is_visible,
    ),
    ("its muxpilot still runs", lambda facts: not facts.owner.is_gone),
    ("a person is attached", lambda facts: facts.people > 0),
    ("it has panes that no muxpilot created", lambda facts: any(not pane.owner for pane in facts.panes)),
    ("a muxpilot that still runs has run commands in it", _has_living_user),
    (
        "another muxpilot is connected, and something was printed in the last hour",
        lambda facts: facts.has_other_muxpilots and facts.is_recent,
    ),
)


async def find_leftovers(app: App, *, ends_running: bool) -> list[Leftover]:
    """Return the sessions and the dead panes that muxpilots have created, each with why it stays."""
    connection = app.servers.default.connection
    sessions = (await call_for_data(app, list_sessions))["sessions"]
    if not sessions:
        return []
    panes = await list_panes_with_owners(connection)
    used_by_living, has_others = await _find_used_panes(app), await _has_other_muxpilots(app)
    gather = partial(
        _Facts,
        used_by_living=used_by_living,
        has_other_muxpilots=has_others,
        now=await read_clock(connection),
    )
    found = []
    for row in sessions:
        owner = await read_session_owner(connection, row["id"])
        if owner is not None:
            inside = [pane for pane in panes if pane.session_id == row["id"]]
            running = None if ends_running else await _find_running(app, inside)
            facts = gather(owner, people=row["attached"], panes=inside, running=running)
            found.append(Leftover("session", row["id"], row["name"], _find_reason(facts)))
    ended = {row.id for row in found if not row.kept_because}
    unwatched = {row["id"]: row["name"] for row in sessions if not row["attached"] and row["id"] not in ended}
    return [*found, *_find_dead_panes(panes, unwatched, gather)]


def _find_dead_panes(
    panes: Sequence[PaneWithOwner], sessions: Mapping[str, str], gather: Callable[..., _Facts]
) -> Iterator[Leftover]:
    """Yield the dead panes in these sessions, given by id and name, whose muxpilot is gone."""
    for pane in panes:
        if pane.is_dead and pane.session_id in sessions and pane.owner is not None and pane.owner.is_gone:
            facts = gather(pane.owner, people=0, panes=[pane], running=None)
            yield Leftover("pane", pane.id, sessions[pane.session_id], _find_reason(facts))


async def find_new_use(app: App, row: Leftover) -> str | None:
    """Return why a session or pane is kept after all, or an empty text; None if it has ended.

    To end others takes a while, and a person may have come meanwhile.
    """
    connection = app.servers.default.connection
    inside = [
        pane for pane in await list_panes_with_owners(connection) if row.id in (pane.session_id, pane.id)
    ]
    if not inside:
        return None
    people = {client.session_id for client in await list_attached_people(connection)}
    if any(pane.session_id in people for pane in inside):
        return "a person is attached"
    is_mixed = row.kind == "session" and any(not pane.owner for pane in inside)
    return "it has panes that no muxpilot created" if is_mixed else ""


def _find_reason(facts: _Facts) -> str:
    for reason, holds in _REASONS:
        if holds(facts):
            return reason
    return f"{facts.running} runs in it" if facts.running else ""


async def _find_running(app: App, panes: Sequence[PaneWithOwner]) -> str | None:
    """Return a program that runs in one of these panes, in the background too. A dead pane has none."""
    return await find_running_program(app.servers.default, [pane.id for pane in panes if not pane.is_dead])


async def _find_used_panes(app: App) -> frozenset[PaneId]:
    """Return the panes in which muxpilots that still run have run commands."""
    tmux, shells = app.servers.default, app.services.shells
    owners = tmux.streams.journals.owners
    ended = [
        pane
        for pane, recorded in await shells.finder.list_recorded(tmux)
        if owners is not None and owners.state(recorded.owner) is not OwnerState.DEAD
    ]
    return frozenset([*ended, *(each.pane for each in shells.list_commands(tmux.socket) if each.is_foreign)])


async def _has_other_muxpilots(app: App) -> bool:
    """Return whether a control client is connected that is not ours. On this host ours are our children."""
    tmux = app.servers.default
    ask = ("display-message", "-p", "#{client_pid}")
    own = (await tmux.connection.run(ask, repeatable=True)).first_line
    others = [pid for pid in await list_control_processes(tmux.connection) if str(pid) != own]
    if tmux.is_remote:
        return bool(others)
    stats = [find_stat(PROC, pid) for pid in others]
    return any(stat is None or stat.parent != os.getpid() for stat in stats)
