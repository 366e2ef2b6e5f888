"""What of the configuration is in force, for `muxpilot doctor`: a line for each rule that restricts."""

from __future__ import annotations

from collections.abc import Iterator

from muxpilot.audit import Audit
from muxpilot.config import Settings
from muxpilot.errors import MuxpilotError
from muxpilot.policy.model import Policy, load
from muxpilot.records import record
from muxpilot.tools import TOOLS


@record
class Finding:
    """One line: good, or bad with what to do."""

    is_good: bool
    words: str


def in_force(settings: Settings, config_fault: MuxpilotError | None) -> Iterator[Finding]:
    if config_fault is not None:
        yield Finding(is_good=False, words=f"config {config_fault}")
        return
    path = settings.origin.path
    yield Finding(is_good=True, words=f"config {path}" if path else "no config file; --config names one")
    try:
        policy = load(settings, TOOLS)
    except MuxpilotError as error:
        yield Finding(is_good=False, words=str(error))
    else:
        yield from (Finding(is_good=True, words=f"policy: {words}") for words in _rules(settings, policy))
    yield from _audit(settings)


def _rules(settings: Settings, policy: Policy) -> Iterator[str]:
    if not policy.is_on:
        yield "off (security.enabled is false)"
        return
    for key in dict.fromkeys(policy.closed.values()):
        names = [name for name, closing in policy.closed.items() if closing == key]
        yield f"{key} closes {len(names)} tools: {', '.join(names)}"
    lists = {"sockets": policy.sockets, "sessions": policy.sessions, "panes": policy.panes}
    for name, allowed in lists.items():
        if allowed is not None:
            yield f"security.allowed_{name}: {', '.join(sorted(allowed)) or 'none'}"
    if not policy.allows_foreign:
        yield "security.allow_foreign is false"
    if not policy.allows_raw_mode:
        yield "security.allow_raw_mode is false"
    if policy.commands is not None:
        rule = settings.security.command_filter
        yield f"security.command_filter: {rule.mode} with {len(rule.patterns)} patterns"
    if policy == Policy(person_pause_s=policy.person_pause_s):
        yield "everything is allowed"


def _audit(settings: Settings) -> Iterator[Finding]:
    """Opened as a server would, so that what would stop it shows here."""
    if not settings.audit.path and not settings.audit.full:
        yield Finding(is_good=True, words="no audit log; --audit names one")
        return
    try:
        Audit(settings.audit).close()
    except MuxpilotError as error:
        yield Finding(is_good=False, words=str(error))
        return
    places = [place for place in (settings.audit.path, settings.audit.full) if place]
    yield Finding(is_good=True, words=f"audit: {', '.join(places)}")
