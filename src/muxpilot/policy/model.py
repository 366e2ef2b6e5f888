"""The policy in force: built from the settings and checked once at the start."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field

from muxpilot.config.model import Settings
from muxpilot.errors import BadInput
from muxpilot.patterns import compile_regex
from muxpilot.policy.commands import CommandRule
from muxpilot.policy.groups import allow_keys, group_members, group_names
from muxpilot.records import record
from muxpilot.tmux.hosts.endpoint import default_socket
from muxpilot.tmux.hosts.ssh import is_remote_identity, server_identity
from muxpilot.toolkit.spec import Tool


@record
class Policy:
    """The rules. `closing_keys` maps closed tools to their keys. A list that is None allows all."""

    is_on: bool = True
    closing_keys: Mapping[str, str] = field(default_factory=dict)
    sockets: frozenset[str] | None = None
    sessions: frozenset[str] | None = None
    panes: frozenset[str] | None = None
    commands: CommandRule | None = None
    allows_raw_mode: bool = True
    allows_create: bool = True
    allows_kill: bool = True
    allows_capture: bool = True
    allows_foreign: bool = True
    person_pause_s: int = 0
    # The tools that a reader of resources represents: it is closed if one of them is.
    stands_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)

    @property
    def is_scoped(self) -> bool:
        return self.sessions is not None or self.panes is not None

    @property
    def needs_targets(self) -> bool:
        """Tell whether a rule needs to know the targets of a call."""
        return self.is_scoped or self.commands is not None or not self.allows_foreign

    def closing_key(self, tool: str) -> str | None:
        """Return the key that closes a tool, or one of the tools that it represents. None if it is open."""
        names = self.stands_for.get(tool, (tool,))
        return next((self.closing_keys[name] for name in names if name in self.closing_keys), None)

    def allows_socket(self, socket: str) -> bool:
        return self.sockets is None or _normalize_socket(socket) in self.sockets


def load_policy(settings: Settings, tools: Sequence[Tool]) -> Policy:
    """Build the policy. Patterns, tools and groups are checked even if security is off, to find typos."""
    security = settings.security
    commands, closed = _compile_command_rule(settings), _find_closed_tools(settings, tools)
    if not security.enabled:
        return Policy(is_on=False, person_pause_s=security.person_pause_seconds)
    return Policy(
        closing_keys=closed,
        sockets=_resolve_sockets(settings),
        sessions=_frozen_or_none(security.allowed_sessions),
        panes=_frozen_or_none(security.allowed_panes),
        commands=commands,
        allows_raw_mode=security.allow_raw_mode,
        allows_create=security.allow_create,
        allows_kill=security.allow_kill,
        allows_capture=security.allow_capture,
        allows_foreign=security.allow_foreign,
        person_pause_s=security.person_pause_seconds,
        stands_for={tool.name: tool.stands_for for tool in tools if tool.stands_for is not None},
    )


def _frozen_or_none(values: Sequence[str] | None) -> frozenset[str] | None:
    return frozenset(values) if values is not None else None


def _resolve_sockets(settings: Settings) -> frozenset[str] | None:
    """Return the allowed sockets as paths. A name of `[servers]` means that server, local or remote."""
    listed = settings.security.allowed_sockets
    if listed is None:
        return None
    named = {name: entry.socket or default_socket() for name, entry in settings.servers.items()}
    named.setdefault("default", settings.socket or default_socket())
    far = {
        name: server_identity(entry.ssh, entry.socket)
        for name, entry in settings.servers.items()
        if entry.ssh
    }
    if settings.ssh:
        far["default"] = server_identity(settings.ssh, settings.socket)
    return frozenset(
        far.get(item) or _normalize_socket(os.path.expanduser(named.get(item, item))) for item in listed
    )


def _normalize_socket(socket: str) -> str:
    return socket if is_remote_identity(socket) else os.path.realpath(socket)


def _compile_command_rule(settings: Settings) -> CommandRule | None:
    rule = settings.security.command_filter
    where = settings.origin.locate("security.command_filter.patterns")
    patterns = []
    for text in rule.patterns:
        try:
            patterns.append(compile_regex(text, "patterns"))
        except BadInput as error:
            raise BadInput(f"{where}: {text[:60]!r} is not a pattern. {error}") from None
    return None if rule.mode == "off" else CommandRule(rule.mode == "allowlist", tuple(patterns))


def _find_closed_tools(settings: Settings, tools: Sequence[Tool]) -> dict[str, str]:
    security = settings.security
    offered = [tool for tool in tools if tool.scopes]
    listed = _expand_tool_list(settings, offered)
    closed: dict[str, str] = {}
    for tool in offered:
        key = next((key for key in allow_keys(tool) if not getattr(security, key)), None)
        if key is not None:
            closed[tool.name] = f"security.{key}"
        elif (tool.name in listed) is (security.tools.mode == "deny"):
            closed[tool.name] = settings.origin.tools or "security.tools"
    return closed


def _expand_tool_list(settings: Settings, tools: Sequence[Tool]) -> frozenset[str]:
    names = {tool.name for tool in tools}
    found: set[str] = set()
    for item in settings.security.tools.items:
        if item not in names and item not in group_names():
            where = settings.origin.locate("security.tools.items")
            raise BadInput(
                f"{where}: there is no tool or group {item[:60]!r}.",
                f"Groups are {', '.join(group_names())}; muxpilot tools --scope all lists the tools.",
            )
        found |= {item} if item in names else group_members(item, tools)
    return frozenset(found)
