"""One page that is open: it is told what there is, and each pane that it shows is followed for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from muxpilot.errors import MuxpilotError
from muxpilot.view.follow import Follower, Tell
from muxpilot.view.model import Stage
from muxpilot.view.panes import Seen, Server, key_of, told

log = logging.getLogger("muxpilot")

MOST_LIVE = 64
_TICK_S = 0.25
_RETRY_S = 1.0
_MOST_NAMED = 1000

_Row = tuple[Server, Seen]
_Sized = tuple[str, int, int]


class Viewer:
    """`shows_all`: also panes that no agent uses. If an agent uses none, all are shown anyway.

    `wanted` is the key of a pane that is shown whatever else there is no room for.
    """

    def __init__(self, stage: Stage, tell: Tell, *, shows_all: bool, wanted: str | None = None) -> None:
        self._stage = stage
        self._tell = tell
        self._shows_all = shows_all
        self._wanted = wanted
        self._followers: dict[_Sized, asyncio.Task[None]] = {}
        self._scene: dict[str, Any] = {}
        self._trail: tuple[int, str | None] = (-1, None)

    async def run(self) -> None:
        with self._stage.watched():
            try:
                while True:
                    await self._tell_scene()
                    await self._tell_trail()
                    await asyncio.sleep(_TICK_S)
            finally:
                await self._leave(*self._followers)

    async def _tell_scene(self) -> None:
        agents = self._stage.agents_panes()
        rows = [(server, pane) for server in self._stage.servers.values() for pane in server.panes]
        chosen = [(server, pane) for server, pane in rows if (server.name, pane.id) in agents]
        meant = rows if self._shows_all or not chosen else chosen
        shown = self._fitting(meant, agents)
        scene = {
            "servers": [{"name": row.name, "problem": row.problem} for row in self._stage.servers.values()],
            "panes": [
                told(server, pane, is_agents=(server.name, pane.id) in agents) for server, pane in shown
            ],
            "hidden": len(rows) - len(meant),
            "more": len(meant) - len(shown),
            "others": _named(meant, shown),
            "closedBy": self._stage.closing_key,
            "textClosedBy": self._stage.text_closing_key,
        }
        if scene != self._scene:
            self._scene = scene
            await self._tell("scene", scene)
        if self._stage.text_closing_key is None:
            await self._follow(shown)

    def _fitting(self, rows: list[_Row], agents: Mapping[tuple[str, str], float]) -> list[_Row]:
        """What there is room for, in tmux's order: the pane that is wanted, and those that were used last."""
        if len(rows) <= MOST_LIVE:
            return rows

        def rank(row: _Row) -> tuple[bool, float]:
            server, pane = row
            return key_of(server, pane) != self._wanted, -agents.get((server.name, pane.id), 0.0)

        best = {key_of(*row) for row in sorted(rows, key=rank)[:MOST_LIVE]}
        return [row for row in rows if key_of(*row) in best]

    async def _tell_trail(self) -> None:
        trail = self._stage.trail
        count, _ = self._trail
        if self._trail != (trail.count, trail.problem):
            self._trail = (trail.count, trail.problem)
            entries = [
                {**entry.told(), "panes": self._stage.meant(entry)} for entry in trail.since(max(count, 0))
            ]
            await self._tell("trail", {"entries": entries, "problem": trail.problem})

    async def _follow(self, rows: list[_Row]) -> None:
        """A size is part of what is followed: with another one, every line may stand elsewhere."""
        wanted = {(key_of(server, pane), pane.width, pane.height): (server, pane) for server, pane in rows}
        await self._leave(*(self._followers.keys() - wanted.keys()))
        for sized, (server, pane) in sorted(wanted.items(), key=_last_use):
            known = self._followers.get(sized)
            if known is None or (known.done() and not pane.is_dead):
                follower = Follower(server.tmux, pane.id, sized[0], self._tell)
                self._followers[sized] = asyncio.create_task(self._watch(follower))

    async def _watch(self, follower: Follower) -> None:
        """One that cannot go on is begun anew, but not at once."""
        try:
            await follower.run()
        except MuxpilotError as error:
            log.info("a pane cannot be followed: %s", error)
        await asyncio.sleep(_RETRY_S)

    async def _leave(self, *keys: _Sized) -> None:
        tasks = [self._followers.pop(key) for key in keys]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _named(meant: list[_Row], shown: list[_Row]) -> list[dict[str, Any]]:
    """Those that do not fit, to choose one."""
    known = {key_of(*row) for row in shown}
    others = [row for row in meant if key_of(*row) not in known][:_MOST_NAMED]
    names = ("key", "server", "id", "place", "command")
    rows = [told(server, pane, is_agents=False) for server, pane in others]
    return [{name: row[name] for name in names} for row in rows]


def _last_use(row: tuple[_Sized, _Row]) -> int:
    _, (server, pane) = row
    return server.use_of(pane)
