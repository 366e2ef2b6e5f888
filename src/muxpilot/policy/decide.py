"""The one decision: a pure function of the policy and a call's facts. The first rule that denies wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from muxpilot.policy.commands import KEY as COMMAND_FILTER
from muxpilot.policy.commands import CommandRule
from muxpilot.policy.model import OPEN_TOOLS, Policy
from muxpilot.records import record

OWN_PANE = "own-pane protection"


@record
class Text:
    """What would reach a shell, or a program that may be one; `is_variable`: as NAME=value around it.

    `is_at_prompt`: a command that is typed there as it is."""

    text: str
    is_typed: bool = False
    is_at_prompt: bool = False
    is_variable: bool = False
    problem: str | None = None


@record
class Facts:
    """A call as it would act: on ids, with everything that it would reach.

    `sessions` are the ids and names of each place that it reaches: one of them must be allowed.
    """

    tool: str
    socket: str
    sessions: tuple[frozenset[str], ...] = ()
    panes: tuple[frozenset[str], ...] = ()
    makes_session: bool = False
    makes_pane: bool = False
    is_raw: bool = False
    kills: bool = False
    own_pane: str | None = None
    foreign: str | None = None
    texts: tuple[Text, ...] = ()


@record
class Verdict:
    """`key` is the rule that decided; `words` say why, for a denial."""

    is_allowed: bool
    key: str
    words: str = ""


ALLOWED = Verdict(is_allowed=True, key="no rule denies it")

Rule = Callable[[Policy, Facts], Verdict | None]


def decide(policy: Policy, facts: Facts) -> Verdict:
    for rule in _rules(policy):
        verdict = rule(policy, facts)
        if verdict is not None:
            return verdict
    return ALLOWED if policy.is_on else Verdict(is_allowed=True, key="security.enabled")


def closed(policy: Policy, tool: str) -> Verdict | None:
    """The first of the rules by itself: it needs no more than a name."""
    key = policy.closing_key(tool)
    return _denied(key, "the tool is not allowed") if key is not None else None


def _rules(policy: Policy) -> Iterator[Rule]:
    if policy.is_on:
        yield from (_tool, _server, _session, _pane, _foreign)
    yield _own_pane
    if policy.is_on:
        yield _content


def _tool(policy: Policy, facts: Facts) -> Verdict | None:
    verdict = closed(policy, facts.tool)
    if verdict is not None:
        return verdict
    if facts.is_raw and not policy.allows_raw_mode:
        return _denied("security.allow_raw_mode", "rawMode and noEnter are not allowed")
    if facts.makes_session and not policy.allows_create:
        return _denied("security.allow_create", "it would make a session")
    if facts.kills and not policy.allows_kill:
        return _denied("security.allow_kill", "it would end what runs there")
    return None


def _server(policy: Policy, facts: Facts) -> Verdict | None:
    if facts.tool in OPEN_TOOLS or policy.allows_socket(facts.socket):
        return None
    return _denied("security.allowed_sockets", f"the socket {facts.socket} is not in it")


def _session(policy: Policy, facts: Facts) -> Verdict | None:
    for names in facts.sessions if policy.sessions is not None else ():
        if not names & (policy.sessions or frozenset()):
            return _denied("security.allowed_sessions", f"session {_first(names)} is not in it")
    return None


def _pane(policy: Policy, facts: Facts) -> Verdict | None:
    if policy.panes is None:
        return None
    for names in facts.panes:
        if not names & policy.panes:
            return _denied("security.allowed_panes", f"it would reach {_first(names)}, which is not in it")
    if facts.makes_pane or facts.makes_session:
        return _denied("security.allowed_panes", "it would make a pane that is not in it")
    return None


def _foreign(policy: Policy, facts: Facts) -> Verdict | None:
    if facts.foreign is None or policy.allows_foreign:
        return None
    return _denied("security.allow_foreign", f"it would reach {facts.foreign}, which no muxpilot made")


def _own_pane(policy: Policy, facts: Facts) -> Verdict | None:
    if facts.own_pane is None:
        return None
    return _denied(OWN_PANE, f"muxpilot itself runs in pane {facts.own_pane}, which it would reach")


def _content(policy: Policy, facts: Facts) -> Verdict | None:
    if policy.commands is None:
        return None
    for text in facts.texts:
        reason = text.problem or _refusal(policy.commands, text)
        if reason:
            return _denied(COMMAND_FILTER, reason)
    return None


def _refusal(commands: CommandRule, text: Text) -> str | None:
    if text.is_variable:
        return commands.refusal_of_variable(text.text)
    return commands.refusal(text.text, is_typed=text.is_typed, is_at_prompt=text.is_at_prompt)


def _denied(key: str, words: str) -> Verdict:
    return Verdict(is_allowed=False, key=key, words=words)


def _first(names: frozenset[str]) -> str:
    """The id, if it is known: it sorts before a name, and has no colon as positions have."""
    return min(names, key=lambda name: (":" in name, name)) if names else "without a name"
