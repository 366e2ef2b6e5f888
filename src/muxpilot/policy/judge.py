"""Check calls: gather the facts of a call, decide, and raise Denied. Filter lists to what is allowed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from muxpilot.config.environment import variables
from muxpilot.errors import ApprovalNeeded, Denied
from muxpilot.policy import erase_keys, input_line
from muxpilot.policy.active_users import ActiveUsers
from muxpilot.policy.decide import (
    ALLOWED,
    CallFacts,
    PolicyVerdict,
    ShellText,
    check_tool_is_open,
    decide,
)
from muxpilot.policy.model import Policy
from muxpilot.policy.ownership import find_foreign_target
from muxpilot.policy.targets_reached import (
    ReachedTargets,
    ServerMap,
    find_own_pane,
    find_reached_targets,
    makes_session,
)
from muxpilot.tmux import Client, ListedPane, PaneId, Session, Tmux, Window
from muxpilot.tmux.own_panes import OwnPanes
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.toolkit.spec import Effect, Tool
from muxpilot.trace import area
from muxpilot.workspace import UnopenedPane

_LONGEST_WAIT_S = 10.0
_ASK_AGAIN_S = 0.25
_SHORT_TEXT = 200  # longer texts are judged in a thread, because parsing them takes a while

_trace = area("policy")

# A verdict, and the text that the call leaves on the input line of each pane.
_Decision = tuple[PolicyVerdict, Mapping[str, input_line.InputLine]]


class PolicyJudge:
    """Checks calls against the policy, and remembers what they leave on the input lines of panes."""

    def __init__(self, policy: Policy, own_panes: OwnPanes | None = None) -> None:
        self.policy = policy
        self._own_panes = OwnPanes(variables()) if own_panes is None else own_panes
        self._input_lines = input_line.InputLines()
        self._users: dict[str, ActiveUsers] = {}
        self._open_tools: set[str] = set()  # tools that passed check_server before; the policy never changes
        self._restricts_nothing = policy.restricts_nothing

    @property
    def restricts_targets(self) -> bool:
        return self.policy.is_scoped or self.policy.sockets is not None

    def is_tool_closed(self, name: str) -> bool:
        return self.policy.closing_key(name) is not None

    def check_tool_open(self, tool: Tool) -> None:
        verdict = check_tool_is_open(self.policy, tool.name)
        if verdict is not None:
            _raise_if_denied(tool, verdict, stage="tool")

    def check_server(self, tool: Tool, tmux: Tmux) -> None:
        """Check the tool and the server, before muxpilot sends it a request."""
        if self.policy.sockets is None and tool.name in self._open_tools:
            return
        verdict = decide(self.policy, CallFacts(tool.name, tmux.socket, tool.reaches_server))
        if not verdict.asks:  # check_call asks, when the targets are known
            _raise_if_denied(tool, verdict, stage="server")
        self._open_tools.add(tool.name)

    async def check_call(
        self, tool: Tool, tmux: Tmux, arguments: Mapping[str, Any], *, approved: tuple[str, ...] | None = None
    ) -> None:
        """Check the whole call, and remember the text that it leaves on input lines.

        Raise ApprovalNeeded where a person must allow the call, unless one has for these texts (`approved`).
        """
        if tool.effect is Effect.READ and not self.policy.judges_reads:
            return  # check_server has applied every rule that concerns it
        verdict, lines = await self._decide(tool, tmux, arguments)
        is_part = approved is not None and tool.typed_input is None  # its texts are among its arguments
        if not (verdict.asks and approved is not None and (is_part or approved == verdict.texts)):
            _raise_if_denied(tool, verdict, stage="call")
        await self._wait_for_person(tool, tmux, arguments)
        for pane, line in lines.items():
            # A pane that is still to be opened has no line yet. The call is checked again when it has an id.
            if pane:
                self._input_lines.set(tmux.socket, pane, line)

    async def _decide(self, tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]) -> _Decision:
        """Decide by the targets, then, if they are allowed, by the texts that would reach shells."""
        own_pane = await find_own_pane(tool, tmux, arguments, self._own_panes)
        if self._restricts_nothing and own_pane is None:
            return ALLOWED, {}
        facts = await self._gather_facts(tool, tmux, arguments, own_pane)
        verdict = decide(self.policy, facts)
        is_denied = not verdict.is_allowed and not verdict.asks
        if is_denied or not self.policy.judges_texts:
            return verdict, {}
        working = await _find_working_keys(tool, tmux, arguments)
        work = partial(self._decide_with_texts, facts, tool, arguments, working)
        is_long = any(len(str(value)) > _SHORT_TEXT for value in arguments.values())
        return await asyncio.to_thread(work) if is_long else work()

    async def _gather_facts(
        self, tool: Tool, tmux: Tmux, arguments: Mapping[str, Any], own_pane: PaneId | None
    ) -> CallFacts:
        """Return all that is known of a call but its texts."""
        reached = (
            await find_reached_targets(tool, tmux, arguments) if self.policy.is_scoped else ReachedTargets()
        )
        return CallFacts(
            tool.name,
            tmux.socket,
            tool.reaches_server,
            sessions=reached.sessions,
            panes=tuple(place.names for place in reached.panes),
            makes_session=makes_session(tool, arguments),
            makes_pane=tool.creates_pane or _opens_new_pane(arguments),
            opens_pane=isinstance(arguments.get("pane_id"), UnopenedPane),
            is_raw=_is_raw(arguments),
            kills=_is_given(tool.kills_if, arguments),
            shows=_is_given(tool.shows_if, arguments),
            types=_is_given(tool.types_if, arguments),
            own_pane=own_pane,
            foreign=None if self.policy.allows_foreign else await find_foreign_target(tool, tmux, arguments),
        )

    def _decide_with_texts(
        self,
        facts: CallFacts,
        tool: Tool,
        arguments: Mapping[str, Any],
        working: Mapping[str, frozenset[str]],
    ) -> _Decision:
        """Decide with the texts too. Return also what they leave on the input line of each pane."""
        texts = _collect_variables(arguments)
        lines: dict[str, input_line.InputLine] = {}
        for pane, good in working.items():
            line = self._input_lines.get(facts.socket, pane)
            found, lines[pane] = _collect_texts(tool, arguments, line, good)
            texts += found
        return decide(self.policy, replace(facts, texts=tuple(texts))), lines

    async def _wait_for_person(self, tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]) -> None:
        """Wait until a person who types in the pane pauses. Raise Denied if they type for too long."""
        pane = arguments.get("pane_id")
        pause_s = self.policy.person_pause_s
        if not pause_s or tool.effect is not Effect.TYPE or not isinstance(pane, PaneId):
            return
        give_up = time.monotonic() + _LONGEST_WAIT_S
        users = self._users.get(tmux.socket) or self._track_users(tmux)
        while await users.is_typing(pane, pause_s):
            _trace.debug("waiting for a person who types", pane=pane, pause_s=pause_s)
            if time.monotonic() > give_up:
                raise Denied(tool.name, "security.person_pause_seconds", f"a person is typing in pane {pane}")
            await asyncio.sleep(_ASK_AGAIN_S)

    def _track_users(self, tmux: Tmux) -> ActiveUsers:
        self._users[tmux.socket] = users = ActiveUsers(tmux)
        return users

    async def filter_rows(self, tmux: Tmux, rows: Sequence[Any]) -> list[Any]:
        """Return those rows of a list that the policy allows a client to see."""
        if not rows or not isinstance(rows[0], Session | Window | ListedPane | Client):
            return list(rows)
        map_ = await ServerMap.read(tmux)
        return [row for row in rows if getattr(row, "is_hub", False) or self._is_visible(map_, row)]

    def _is_visible(self, map_: ServerMap, row: Any) -> bool:
        if isinstance(row, ListedPane):
            return self._allows_any(map_, [place for place in (map_.places.get(row.id),) if place])
        if isinstance(row, Window):
            inside = [place for place in map_.places.values() if place.window == row.id]
            return self._allows_session(map_, row.session_id) and self._allows_any(map_, inside)
        session = row.session_id if isinstance(row, Client) else row.id
        if session is None:
            return False
        return self._allows_session(map_, session) and self._allows_any(map_, map_.of_session(session))

    def _allows_any(self, map_: ServerMap, places: Sequence[Any]) -> bool:
        """Return whether at least one of these panes may be reached."""
        facts = (
            CallFacts("", "", sessions=tuple(map_.sessions_of([place])), panes=(place.names,))
            for place in places
        )
        return any(decide(self._place_policy, item).is_allowed for item in facts)

    def _allows_session(self, map_: ServerMap, session: Any) -> bool:
        if self.policy.sessions is None:
            return True
        return session in map_.session_names and bool(map_.session(session) & self.policy.sessions)

    @property
    def _place_policy(self) -> Policy:
        return Policy(sessions=self.policy.sessions, panes=self.policy.panes)


async def _find_working_keys(
    tool: Tool, tmux: Tmux, arguments: Mapping[str, Any]
) -> dict[str, frozenset[str]]:
    """Return every pane that a call types into, with the erase keys that work there. "" means no pane."""
    pane = arguments.get("pane_id")
    if tool.effect is not Effect.TYPE or not isinstance(pane, PaneId):
        return {"": erase_keys.UNDO_KEYS}
    panes = await tmux.panes.list_synchronized(pane)
    if not input_line.has_undo_key(_strokes_of(tool, arguments)):
        return dict.fromkeys(map(str, panes), erase_keys.UNDO_KEYS)
    return {str(item): await erase_keys.find_working_keys(tmux, item) for item in panes}


def _strokes_of(tool: Tool, arguments: Mapping[str, Any]) -> list[str]:
    lines = (arguments.get(row.name) for row in tool.arguments if ArgumentFlag.LINES in row.flags)
    pressed = tool.typed_input(arguments) if tool.typed_input is not None else ()
    return [*pressed, *(value for value in lines if isinstance(value, str))]


def _collect_texts(
    tool: Tool, arguments: Mapping[str, Any], line: input_line.InputLine, working: frozenset[str]
) -> tuple[list[ShellText], input_line.InputLine]:
    """Return the texts that would reach a pane's shell, its input line included, and the line after them."""
    texts: list[ShellText] = []
    after = line
    if tool.typed_input is not None:
        texts, after = input_line.apply_strokes(line, tool.typed_input(arguments), working)
    for argument in tool.arguments:
        value = arguments.get(argument.name)
        if not isinstance(value, str):
            continue
        if ArgumentFlag.LINES in argument.flags:
            entered, after = input_line.apply_strokes(line, (value, "\n"), working)
            texts += [*entered, ShellText(value, is_typed=True)]
        elif ArgumentFlag.SHELL in argument.flags and tool.effect is Effect.TYPE and arguments.get("pane_id"):
            enters = not arguments.get("no_enter")
            text, after = input_line.append_command(line, value, enters=enters, is_raw=_is_raw(arguments))
            texts.append(text)
        elif ArgumentFlag.SHELL in argument.flags:
            texts.append(ShellText(value))
    return texts, after


def _opens_new_pane(arguments: Mapping[str, Any]) -> bool:
    """Return whether a pane is opened for the call. A dead one that is started again keeps its id."""
    planned = arguments.get("pane_id")
    return isinstance(planned, UnopenedPane) and planned.dead_pane is None


def _is_given(name: str | None, arguments: Mapping[str, Any]) -> bool:
    """Return whether the argument of this name, if there is one, is true."""
    return name is not None and bool(arguments.get(name))


def _is_raw(arguments: Mapping[str, Any]) -> bool:
    """Return whether a command is typed unchanged, without being tracked."""
    return bool(arguments.get("raw_mode") or arguments.get("no_enter"))


def _collect_variables(arguments: Mapping[str, Any]) -> list[ShellText]:
    env = arguments.get("env") or {}
    return [ShellText(f"{name}={value}", is_variable=True) for name, value in env.items()]


def _raise_if_denied(tool: Tool, verdict: PolicyVerdict, *, stage: str) -> None:
    # The reason may quote a command, so only the key is logged.
    if _trace.is_debug:
        allowed, key = verdict.is_allowed, verdict.key
        _trace.debug("verdict", stage=stage, tool=tool.name, is_allowed=allowed, asks=verdict.asks, key=key)
    if verdict.asks:
        needed = ApprovalNeeded(tool.name, verdict.key, verdict.reason)
        needed.texts = verdict.texts
        raise needed
    if not verdict.is_allowed:
        raise Denied(tool.name, verdict.key, verdict.reason)
