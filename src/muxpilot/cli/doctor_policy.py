"""The policy part of `muxpilot doctor`: one line for each rule that restricts agents."""

from __future__ import annotations

from collections.abc import Iterator

from muxpilot.app import build_redactor
from muxpilot.audit import AuditLog
from muxpilot.config.model import SecuritySettings, Settings
from muxpilot.errors import MuxpilotError
from muxpilot.policy.model import Policy, load_policy
from muxpilot.records import record
from muxpilot.tools import TOOLS


@record
class Finding:
    """One line of the report: whether the check passed, and what to do if it did not."""

    is_good: bool
    text: str


def check_policy(settings: Settings, config_fault: MuxpilotError | None) -> Iterator[Finding]:
    """Yield what the config file, the policy and the audit log look like."""
    if config_fault is not None:
        yield Finding(is_good=False, text=f"config {config_fault}")
        return
    path = settings.origin.path
    yield Finding(is_good=True, text=f"config {path}" if path else "no config file; use --config to give one")
    try:
        policy = load_policy(settings, TOOLS)
        build_redactor(settings)
    except MuxpilotError as error:
        yield Finding(is_good=False, text=str(error))
    else:
        yield from (
            Finding(is_good=True, text=f"policy: {words}") for words in _describe_rules(settings, policy)
        )
    yield from _check_audit(settings)


def _describe_rules(settings: Settings, policy: Policy) -> Iterator[str]:
    if not policy.is_on:
        yield "off (security.enabled is false)"
        return
    yield from _describe_preset(settings.security)
    yield from _describe_closed_tools(policy)
    yield from _describe_targets(policy)
    yield from _describe_commands(settings.security, policy)
    if settings.security.redact:
        yield f"security.redact is true, patterns of your own: {len(settings.security.redact_patterns)}"
    elif policy == Policy(person_pause_s=policy.person_pause_s):
        yield "everything is allowed"


def _describe_closed_tools(policy: Policy) -> Iterator[str]:
    for key in dict.fromkeys(policy.closing_keys.values()):
        names = [name for name, closing in policy.closing_keys.items() if closing == key]
        yield f"{key} closes {len(names)} tools: {', '.join(names)}"


def _describe_targets(policy: Policy) -> Iterator[str]:
    lists = {"sockets": policy.sockets, "sessions": policy.sessions, "panes": policy.panes}
    for name, allowed in lists.items():
        if allowed is not None:
            yield f"security.allowed_{name}: {', '.join(sorted(allowed)) or 'none'}"
    if not policy.allows_foreign:
        yield "security.allow_foreign is false"


def _describe_commands(security: SecuritySettings, policy: Policy) -> Iterator[str]:
    """Yield which commands are refused, and for which calls and commands a person is asked."""
    if not policy.allows_raw_mode:
        yield "security.allow_raw_mode is false"
    if policy.commands is not None:
        rule = security.command_filter
        yield f"security.command_filter: {rule.mode}, patterns: {len(rule.patterns)}"
    if policy.asking_keys:
        yield f"security.ask: a person must allow {', '.join(policy.asking_keys)}"
    for asked in policy.asked_commands:
        yield f"{asked.key}: a person must allow matching commands, patterns: {len(asked.rule.patterns)}"


def _describe_preset(security: SecuritySettings) -> Iterator[str]:
    """Yield which preset is in force, what it means, and which parts of it other keys of the file change."""
    from muxpilot.config.presets import PRESETS

    name, preset = security.preset, PRESETS[security.preset]
    yield f"security.preset is {name}"
    yield from (f"{name}: {words}" for words in preset.meaning)
    changed = [key for key, value in preset.values.items() if getattr(security, key) != value]
    if changed:
        keys = ", ".join(f"security.{key}" for key in changed)
        yield f"{name}: not as above, because the file sets it itself: {keys}"


def _check_audit(settings: Settings) -> Iterator[Finding]:
    """Open the audit log as a server would, to find errors that would stop the server."""
    if not settings.audit.path and not settings.audit.full:
        yield Finding(is_good=True, text="no audit log; use --audit to keep one")
        return
    try:
        AuditLog(settings.audit).close()
    except MuxpilotError as error:
        yield Finding(is_good=False, text=str(error))
        return
    places = [place for place in (settings.audit.path, settings.audit.full) if place]
    yield Finding(is_good=True, text=f"audit: {', '.join(places)}")
