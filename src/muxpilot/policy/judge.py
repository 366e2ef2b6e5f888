"""The policy at work: facts of a call are gathered, the decision is made, and a denial is raised."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from muxpilot.errors import Denied
from muxpilot.policy import erase_keys, input_line
from muxpilot.policy.active_users import People
from muxpilot.policy.decide import Facts, Text, Verdict, closed, decide
from muxpilot.policy.model import Policy
from muxpilot.policy.ownership import foreign_reached
from muxpilot.policy.targets_reached import Map, Reach, makes_session, own_pane_reached, reach, synchronized
from muxpilot.tmux import Client, ListedPane, PaneId, Session, Tmux, Window
from muxpilot.toolkit.argument_flags import Mark
from muxpilot.toolkit.spec import Effect, Tool

_LONGEST_WAIT_S = 10.0
_LOOK_AGAIN_S = 0.25
_SHORT = 200  # longer texts are judged beside the event loop


class Judge:
    def __init__(self, policy: Policy, environment: Mapping[str, str] = os.environ) -> None:
        self.policy = policy
        self._environment = environment
        self._typed = input_line.Typed()
        self._people: dict[str, People] = {}
        self._open: set[str] = set()  # tools that no rule of tools closes: the policy never changes

    @property
    def narrows(self) -> bool:
        return self.policy.is_scoped or self.policy.sockets is not None

    def closes(self, name: str) -> bool:
        return self.policy.closing_key(name) is not None

    def admit(self, tool: Tool) -> None:
        verdict = closed(self.policy, tool.name)
        if verdict is not None:
            _raise(tool, verdict)

    def gate(self, tool: Tool, tmux: Tmux) -> None:
        """Tool and server, before that server is asked anything."""
        if self.policy.sockets is None and tool.name in self._open:
            return
        _raise(tool, decide(self.policy, Facts(tool.name, tmux.socket)))
        self._open.add(tool.name)

    async def judge(self, tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]) -> None:
        """Raise what denies the call; what is allowed is remembered as typed."""
        if tool.effect is Effect.READ and not self.policy.is_scoped and self.policy.commands is None:
            return  # the gate has said all there is to say of it
        lines: dict[str, input_line.Line] = {}
        verdict = await self._verdict(tool, tmux, arguments, lines)
        _raise(tool, verdict)
        await self._let_person_finish(tool, tmux, arguments)
        for pane, line in lines.items():
            self._typed.keep(tmux.socket, pane, line)

    async def _verdict(
        self, tool: Tool, tmux: Tmux, arguments: Mapping[str, Any], lines: dict[str, input_line.Line]
    ) -> Verdict:
        reached = await reach(tool, tmux, arguments) if self.policy.is_scoped else Reach()
        facts = Facts(
            tool.name,
            tmux.socket,
            sessions=reached.sessions,
            panes=tuple(place.names for place in reached.panes),
            makes_session=makes_session(tool, arguments),
            makes_pane=tool.name in ("create-window", "split-pane"),
            is_raw=_is_raw(arguments),
            kills=tool.name == "respawn-pane" and bool(arguments.get("kill")),
            own_pane=await own_pane_reached(tool, tmux, arguments, self._environment),
            foreign=None if self.policy.allows_foreign else await foreign_reached(tool, tmux, arguments),
        )
        verdict = decide(self.policy, facts)
        if not verdict.is_allowed or self.policy.commands is None:
            return verdict

        working = await _working_keys(tool, tmux, arguments)

        def with_content() -> Verdict:
            texts = _variables(arguments)
            for pane, good in working.items():
                found, lines[pane] = _texts(tool, arguments, self._typed.line(tmux.socket, pane), good)
                texts += found
            return decide(self.policy, replace(facts, texts=tuple(texts)))

        is_long = any(len(str(value)) > _SHORT for value in arguments.values())
        return await asyncio.to_thread(with_content) if is_long else with_content()

    async def _let_person_finish(self, tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]) -> None:
        """A person who just used the pane is waited for; one who goes on is not typed over."""
        pane = arguments.get("pane_id")
        pause_s = self.policy.person_pause_s
        if not pause_s or tool.effect is not Effect.TYPE or not isinstance(pane, PaneId):
            return
        give_up = time.monotonic() + _LONGEST_WAIT_S
        people = self._people.get(tmux.socket) or self._meet(tmux)
        while await people.use(pane, pause_s):
            if time.monotonic() > give_up:
                raise Denied(tool.name, "security.person_pause_seconds", f"a person is typing in pane {pane}")
            await asyncio.sleep(_LOOK_AGAIN_S)

    def _meet(self, tmux: Tmux) -> People:
        self._people[tmux.socket] = people = People(tmux)
        return people

    async def sieve(self, tmux: Tmux, rows: Sequence[Any]) -> list[Any]:
        """Of what tmux lists, only what is allowed."""
        if not rows or not isinstance(rows[0], Session | Window | ListedPane | Client):
            return list(rows)
        map_ = await Map.of(tmux)
        return [row for row in rows if getattr(row, "is_hub", False) or self._sees(map_, row)]

    def _sees(self, map_: Map, row: Any) -> bool:
        if isinstance(row, ListedPane):
            return self._allows(map_, [place for place in (map_.places.get(row.id),) if place])
        if isinstance(row, Window):
            inside = [place for place in map_.places.values() if place.window == row.id]
            return self._allows_session(map_, row.session_id) and self._allows(map_, inside)
        session = row.session_id if isinstance(row, Client) else row.id
        if session is None:
            return False
        return self._allows_session(map_, session) and self._allows(map_, map_.of_session(session))

    def _allows(self, map_: Map, places: Sequence[Any]) -> bool:
        """Whether any of these may be reached."""
        facts = (
            Facts("list-panes", "", tuple(map_.sessions_of([place])), (place.names,)) for place in places
        )
        return any(decide(self._only_places, item).is_allowed for item in facts)

    def _allows_session(self, map_: Map, session: Any) -> bool:
        if self.policy.sessions is None:
            return True
        return session in map_.session_names and bool(map_.session(session) & self.policy.sessions)

    @property
    def _only_places(self) -> Policy:
        return Policy(sessions=self.policy.sessions, panes=self.policy.panes)


async def _working_keys(tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Every pane that a call types into, with the keys that take back there; "" stands for no pane."""
    pane = arguments.get("pane_id")
    if tool.effect is not Effect.TYPE or not isinstance(pane, PaneId):
        return {"": erase_keys.TAKING_BACK}
    panes = await synchronized(tmux, pane)
    if not input_line.takes_back(_strokes(tool, arguments)):
        return dict.fromkeys(map(str, panes), erase_keys.TAKING_BACK)
    return {str(item): await erase_keys.working(tmux, item) for item in panes}


def _strokes(tool: Tool, arguments: Mapping[str, Any]) -> list[str]:
    lines = (arguments.get(row.name) for row in tool.arguments if Mark.LINES in row.marks)
    pressed = tool.types(arguments) if tool.types is not None else ()
    return [*pressed, *(value for value in lines if isinstance(value, str))]


def _texts(
    tool: Tool, arguments: Mapping[str, Any], line: input_line.Line, working: frozenset[str]
) -> tuple[list[Text], input_line.Line]:
    """All that would end at a pane's shell, with what already stands on its line; and what then stands."""
    texts: list[Text] = []
    after = line
    if tool.types is not None:
        texts, after = input_line.entered(line, tool.types(arguments), working)
    for argument in tool.arguments:
        value = arguments.get(argument.name)
        if not isinstance(value, str):
            continue
        if Mark.LINES in argument.marks:
            entered, after = input_line.entered(line, (value, "\n"), working)
            texts += [*entered, Text(value, is_typed=True)]
        elif Mark.SHELL in argument.marks and tool.effect is Effect.TYPE and arguments.get("pane_id"):
            enters = not arguments.get("no_enter")
            text, after = input_line.before_command(line, value, enters=enters, is_raw=_is_raw(arguments))
            texts.append(text)
        elif Mark.SHELL in argument.marks:
            texts.append(Text(value))
    return texts, after


def _is_raw(arguments: Mapping[str, Any]) -> bool:
    """Typed as it is, and not tracked."""
    return bool(arguments.get("raw_mode") or arguments.get("no_enter"))


def _variables(arguments: Mapping[str, Any]) -> list[Text]:
    env = arguments.get("env") or {}
    return [Text(f"{name}={value}", is_variable=True) for name, value in env.items()]


def _raise(tool: Tool, verdict: Verdict) -> None:
    if not verdict.is_allowed:
        raise Denied(tool.name, verdict.key, verdict.words)
