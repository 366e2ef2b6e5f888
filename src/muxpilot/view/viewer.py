"""One open page: send it the overview and the audit log, and follow each pane that it shows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from muxpilot.errors import MuxpilotError
from muxpilot.tasks import TaskSet, cancel_and_wait
from muxpilot.trace import area
from muxpilot.view.follow import PaneFollower, SendEvent
from muxpilot.view.model import ViewModel
from muxpilot.view.panes import ViewPane, ViewServer, pane_key, pane_to_json
from muxpilot.view.questions import list_questions, question_to_json

trace = area("view")

MOST_LIVE = 64
_TICK_S = 0.25
_RETRY_S = 1.0
_MOST_NAMED = 1000

_Row = tuple[ViewServer, ViewPane]
_Sized = tuple[str, int, int]


class Viewer:
    """One open page.

    `shows_all` includes panes that no agent uses. If agents use no pane, all are shown anyway.
    `wanted` is the key of a pane that is shown even if not all panes fit.
    """

    def __init__(
        self, model: ViewModel, send_event: SendEvent, *, shows_all: bool, wanted: str | None = None
    ) -> None:
        self._model = model
        self._send_event = send_event
        self._shows_all = shows_all
        self._wanted = wanted
        self._tasks = TaskSet(trace)
        self._followers: dict[_Sized, asyncio.Task[None]] = {}
        self._overview: dict[str, Any] = {}
        self._questions: list[dict[str, Any]] | None = None
        self._audit_state: tuple[int, str | None] = (-1, None)

    async def run(self) -> None:
        """Send events to the page until the task is cancelled."""
        with self._model.watch():
            try:
                while True:
                    await self._send_overview()
                    await self._send_audit()
                    await self._send_questions()
                    await asyncio.sleep(_TICK_S)
            finally:
                await self._stop_followers(*self._followers)

    async def _send_overview(self) -> None:
        agents = self._model.agents_panes()
        rows = [(server, pane) for server in self._model.servers.values() for pane in server.panes]
        used = [(server, pane) for server, pane in rows if (server.name, pane.id) in agents]
        wanted = rows if self._shows_all or not used else used
        shown = self._choose_live(wanted, agents)
        overview = {
            "servers": [{"name": row.name, "problem": row.problem} for row in self._model.servers.values()],
            "panes": [
                pane_to_json(server, pane, is_agents=(server.name, pane.id) in agents)
                for server, pane in shown
            ],
            "hidden": len(rows) - len(wanted),
            "more": len(wanted) - len(shown),
            "others": _list_others(wanted, shown),
            "closedBy": self._model.closing_key,
            "textClosedBy": self._model.text_closing_key,
        }
        if overview != self._overview:
            self._overview = overview
            await self._send_event("overview", overview)
        if self._model.text_closing_key is None:
            await self._follow_panes(shown)

    def _choose_live(self, rows: list[_Row], agents: Mapping[tuple[str, str], float]) -> list[_Row]:
        """Return the panes that fit, in tmux's order: the wanted one and those that were used last."""
        if len(rows) <= MOST_LIVE:
            return rows

        def rank(row: _Row) -> tuple[bool, float]:
            server, pane = row
            return pane_key(server, pane) != self._wanted, -agents.get((server.name, pane.id), 0.0)

        best = {pane_key(*row) for row in sorted(rows, key=rank)[:MOST_LIVE]}
        return [row for row in rows if pane_key(*row) in best]

    async def _send_audit(self) -> None:
        audit = self._model.audit
        count, _ = self._audit_state
        if self._audit_state != (audit.count, audit.problem):
            self._audit_state = (audit.count, audit.problem)
            entries = [
                {**entry.to_json(), "panes": self._model.panes_of(entry)}
                for entry in audit.entries_since(max(count, 0))
            ]
            await self._send_event("audit", {"entries": entries, "problem": audit.problem})

    async def _send_questions(self) -> None:
        questions = [question_to_json(row) for row in await list_questions(self._model)]
        if questions != self._questions:
            self._questions = questions
            await self._send_event("questions", {"questions": questions})

    async def _follow_panes(self, rows: list[_Row]) -> None:
        """Start and stop followers. A pane with a new size needs a new one: its lines may have moved."""
        wanted = {(pane_key(server, pane), pane.width, pane.height): (server, pane) for server, pane in rows}
        await self._stop_followers(*(self._followers.keys() - wanted.keys()))
        for sized, (server, pane) in sorted(wanted.items(), key=_recency):
            known = self._followers.get(sized)
            if known is None or (known.done() and not pane.is_dead):
                follower = PaneFollower(server.tmux, pane.id, sized[0], self._send_event)
                self._followers[sized] = self._tasks.start(self._run_follower(follower), name="follow pane")
                trace.debug("pane followed", server=server.name, pane=pane.id, is_retry=known is not None)

    async def _run_follower(self, follower: PaneFollower) -> None:
        """Run a follower; the pause afterwards limits how often a failing one is started again."""
        try:
            await follower.run()
        except MuxpilotError as error:
            trace.info("pane cannot be followed", pane=follower.pane, error=type(error).__name__)
        await asyncio.sleep(_RETRY_S)

    async def _stop_followers(self, *keys: _Sized) -> None:
        tasks = [self._followers.pop(key) for key in keys]
        if tasks:
            trace.debug("followers stopped", count=len(tasks), left=len(self._followers))
        await cancel_and_wait(tasks)


def _list_others(wanted: list[_Row], shown: list[_Row]) -> list[dict[str, Any]]:
    """Return the panes that do not fit; the page offers them in a list."""
    known = {pane_key(*row) for row in shown}
    others = [row for row in wanted if pane_key(*row) not in known][:_MOST_NAMED]
    names = ("key", "server", "id", "place", "command")
    rows = [pane_to_json(server, pane, is_agents=False) for server, pane in others]
    return [{name: row[name] for name in names} for row in rows]


def _recency(row: tuple[_Sized, _Row]) -> int:
    _, (server, pane) = row
    return server.recency_of(pane)
