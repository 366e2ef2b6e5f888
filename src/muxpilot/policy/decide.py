"""Decide about a call: a pure function of the policy and the facts.

The first rule that denies wins. Only where none denies, the rules that ask a person are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from muxpilot.policy.commands import KEY as COMMAND_FILTER
from muxpilot.policy.commands import CommandRule
from muxpilot.policy.model import Policy
from muxpilot.records import record

OWN_PANE = "own-pane protection"


@record
class ShellText:
    """A text that would reach a shell, or a program that may be one.

    `is_variable`: it is NAME=value in the environment. `is_at_prompt`: it is typed at the prompt unchanged.
    `problem`: why it cannot be judged.
    """

    text: str
    is_typed: bool = False
    is_at_prompt: bool = False
    is_variable: bool = False
    problem: str | None = None


@record
class CallFacts:
    """The effects of a call: its targets as ids, with everything that it would reach.

    Each item of `sessions` and `panes` holds the id and the names of one target; one of them must be allowed.
    """

    tool: str
    socket: str
    reaches_server: bool = True
    sessions: tuple[frozenset[str], ...] = ()
    panes: tuple[frozenset[str], ...] = ()
    makes_session: bool = False
    makes_pane: bool = False
    # Whether a named pane is opened for the call, or its program is started again.
    opens_pane: bool = False
    is_raw: bool = False
    kills: bool = False
    shows: bool = False
    types: bool = False
    own_pane: str | None = None
    foreign: str | None = None
    texts: tuple[ShellText, ...] = ()


@record
class PolicyVerdict:
    """The decision: allowed, denied, or a person is to be asked.

    `key` is the rule that decided, `reason` says why it denies or asks.
    """

    is_allowed: bool
    key: str
    reason: str = ""
    asks: bool = False
    # Where it asks: the texts that would reach shells.
    texts: tuple[str, ...] = ()


ALLOWED = PolicyVerdict(is_allowed=True, key="no rule denies it")

Rule = Callable[[Policy, CallFacts], PolicyVerdict | None]


def decide(policy: Policy, facts: CallFacts) -> PolicyVerdict:
    """Return the verdict of the first rule that denies the call, or asks, or the one that allows it."""
    for rule in _rules_in_force(policy):
        verdict = rule(policy, facts)
        if verdict is not None:
            texts = tuple(text.problem or text.text for text in facts.texts) if verdict.asks else ()
            return replace(verdict, texts=texts)
    return ALLOWED if policy.is_on else PolicyVerdict(is_allowed=True, key="security.enabled")


def check_tool_is_open(policy: Policy, tool: str) -> PolicyVerdict | None:
    """Apply the first rule alone, which needs only the tool's name."""
    key = policy.closing_key(tool)
    return _deny(key, "the tool is not allowed") if key is not None else None


def _rules_in_force(policy: Policy) -> Iterator[Rule]:
    if policy.is_on:
        yield from (_check_tool, _check_server, _check_sessions, _check_panes, _check_ownership)
    yield _check_own_pane
    if policy.is_on:
        yield from (_check_content, _ask_for_tool, _ask_for_content)


def _check_tool(policy: Policy, facts: CallFacts) -> PolicyVerdict | None:
    verdict = check_tool_is_open(policy, facts.tool)
    if verdict is not None:
        return verdict
    if facts.is_raw and not policy.allows_raw_mode:
        return _deny("security.allow_raw_mode", "rawMode and noEnter are not allowed")
    if (facts.makes_session or facts.opens_pane) and not policy.allows_create:
        return _deny(
            "security.allow_create",
            f"it would {'create a session' if facts.makes_session else 'open a pane'}",
        )
    if facts.kills and not policy.allows_kill:
        return _deny("security.allow_kill", "it would kill what runs there")
    if facts.shows and not policy.allows_capture:
        return _deny("security.allow_capture", "it would show what the pane shows")
    if facts.types and not policy.allows_typing:
        return _deny("security.allow_send_keys", "it would type into the pane")
    return None


def _check_server(policy: Policy, facts: CallFacts) -> PolicyVerdict | None:
    if not facts.reaches_server or policy.allows_socket(facts.socket):
        return None
    return _deny("security.allowed_sockets", f"the socket {facts.socket} is not in it")


def _check_sessions(policy: Policy, facts: CallFacts) -> PolicyVerdict | None:
    for names in facts.sessions if policy.sessions is not None else ():
        if not names & (policy.sessions or frozenset()):
            return _deny("security.allowed_sessions", f"session {_shortest_name(names)} is not in it")
    return None


def _check_panes(policy: Policy, facts: CallFacts) -> PolicyVerdict | None:
    if policy.panes is None:
        return None
    for names in facts.panes:
        if not names & policy.panes:
            return _deny(
                "security.allowed_panes", f"it would reach {_shortest_name(names)}, which is not in it"
            )
    if facts.makes_pane or facts.makes_session:
        return _deny("security.allowed_panes", "it would create a pane that is not in it")
    return None


def _check_ownership(policy: Policy, facts: CallFacts) -> PolicyVerdict | None:
    if facts.foreign is None or policy.allows_foreign:
        return None
    return _deny("security.allow_foreign", f"it would reach {facts.foreign}, which muxpilot did not create")


def _check_own_pane(policy: Policy, facts: CallFacts) -> PolicyVerdict | None:
    if facts.own_pane is None:
        return None
    return _deny(OWN_PANE, f"muxpilot itself runs in pane {facts.own_pane}, which it would reach")


def _check_content(policy: Policy, facts: CallFacts) -> PolicyVerdict | None:
    if policy.commands is None:
        return None
    for text in facts.texts:
        reason = text.problem or _find_text_denial(policy.commands, text)
        if reason:
            return _deny(COMMAND_FILTER, reason)
    return None


def _ask_for_tool(policy: Policy, facts: CallFacts) -> PolicyVerdict | None:
    key = policy.asking_key(facts.tool)
    if key is not None:
        return _ask(key, f"{facts.tool} must be allowed by a person")
    if facts.kills and policy.kills_ask_by is not None:
        return _ask(policy.kills_ask_by, "it would kill what runs there")
    return None


def _ask_for_content(policy: Policy, facts: CallFacts) -> PolicyVerdict | None:
    for asked in policy.asked_commands:
        for text in facts.texts:
            reason = text.problem or _find_text_denial(asked.rule, text)
            if reason:
                return _ask(asked.key, reason)
    return None


def _find_text_denial(commands: CommandRule, text: ShellText) -> str | None:
    if text.is_variable:
        return commands.find_variable_denial(text.text)
    return commands.find_denial(text.text, is_typed=text.is_typed, is_at_prompt=text.is_at_prompt)


def _deny(key: str, words: str) -> PolicyVerdict:
    return PolicyVerdict(is_allowed=False, key=key, reason=words)


def _ask(key: str, words: str) -> PolicyVerdict:
    return PolicyVerdict(is_allowed=False, key=key, reason=words, asks=True)


def _shortest_name(names: frozenset[str]) -> str:
    """Return the id if it is known: it sorts before names, and has no colon, unlike positions."""
    return min(names, key=lambda name: (":" in name, name)) if names else "without a name"
