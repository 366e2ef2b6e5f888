"""What agents have left behind: sessions and dead panes whose muxpilot is gone and that nothing uses.

A session is left behind only if every line of the table holds. What cannot be known counts as in use.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from muxpilot.app import App
from muxpilot.cli.application import call_for_data
from muxpilot.errors import Refused
from muxpilot.journal.owners import OwnerState
from muxpilot.processes.proc import PROC, find_stat
from muxpilot.records import record
from muxpilot.tmux import PaneId
from muxpilot.tmux.objects.owner import Owner
from muxpilot.tmux.objects.owner_marks import (
    PaneWithOwner,
    list_control_processes,
    list_panes_with_owners,
    read_session_owner,
)
from muxpilot.tools.sessions import list_sessions
from muxpilot.tools.state import pane_state

_RECENTLY_S = 3600.0


@record
class Leftover:
    """A session or a pane of a muxpilot. `kept_because` is why it is not ended, or an empty text."""

    kind: str
    id: str
    name: str
    kept_because: str


@record
class _Facts:
    """What is known of one session that a muxpilot has created."""

    owner: Owner
    people: int
    panes: Sequence[PaneWithOwner]
    running: Sequence[str]  # programs
    used_by_living: frozenset[PaneId]
    has_other_muxpilots: bool

    @property
    def is_recent(self) -> bool:
        newest = max((pane.activity for pane in self.panes), default=0)
        return time.time() - newest < _RECENTLY_S


def _has_living_user(facts: _Facts) -> bool:
    return any(pane.id in facts.used_by_living for pane in facts.panes)


# Why a session stays: the reason, and when it holds.
_REASONS: tuple[tuple[str, Callable[[_Facts], bool]], ...] = (
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
    found = []
    for row in sessions:
        owner = await read_session_owner(connection, row["id"])
        if owner is not None:
            inside = [pane for pane in panes if pane.session_id == row["id"]]
            running = [] if ends_running else await _list_running(app, inside)
            facts = _Facts(owner, row["attached"], inside, running, used_by_living, has_others)
            found.append(Leftover("session", row["id"], row["name"], _find_reason(facts)))
    ended = {row.id for row in found if not row.kept_because}
    unwatched = {row["id"]: row["name"] for row in sessions if not row["attached"] and row["id"] not in ended}
    return [*found, *_find_dead_panes(panes, unwatched)]


def _find_reason(facts: _Facts) -> str:
    for reason, holds in _REASONS:
        if holds(facts):
            return reason
    return f"{facts.running[0]} runs in it" if facts.running else ""


def _find_dead_panes(panes: Sequence[PaneWithOwner], sessions: Mapping[str, str]) -> list[Leftover]:
    """Return the dead panes of muxpilots that are gone. `sessions` stay, and no person looks at them."""
    return [
        Leftover("pane", pane.id, sessions[pane.session_id], "")
        for pane in panes
        if pane.is_dead and pane.session_id in sessions
        if pane.owner is not None and pane.owner.is_gone
    ]


async def _list_running(app: App, panes: Sequence[PaneWithOwner]) -> list[str]:
    """Return the programs that are not at a shell's prompt; one that cannot be seen counts as running."""
    running = []
    for pane in panes:
        if pane.is_dead:
            continue
        try:
            state = await call_for_data(app, pane_state, paneId=pane.id)
        except Refused:
            running.append("a program that cannot be seen")
            continue
        if state["waitingFor"] != "shell":
            running.append(state["foregroundCmd"])
    return running


async def _find_used_panes(app: App) -> frozenset[PaneId]:
    """Return the panes in which muxpilots that still run have run commands."""
    tmux, shells = app.servers.default, app.services.shells
    owners = tmux.streams.journals.owners
    ended = [
        pane
        for pane, recorded in await shells.list_recorded(tmux)
        if owners is not None and owners.state(recorded.owner) is not OwnerState.DEAD
    ]
    return frozenset([*ended, *(each.pane for each in shells.list_commands(tmux.socket) if each.is_foreign)])


async def _has_other_muxpilots(app: App) -> bool:
    """Return whether a control client is connected that is not a child of this process."""
    pids = await list_control_processes(app.servers.default.connection)
    stats = [find_stat(PROC, pid) for pid in pids]
    return any(stat is None or stat.parent != os.getpid() for stat in stats)
