"""The policy in force, checked once at the start."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field

from muxpilot.config import Settings
from muxpilot.errors import BadInput
from muxpilot.patterns import compiled
from muxpilot.policy.commands import CommandRule
from muxpilot.policy.groups import STANDS_FOR, gates, group_names, members
from muxpilot.records import record
from muxpilot.tmux.hosts.endpoint import default_socket
from muxpilot.tmux.hosts.ssh import identity, is_far
from muxpilot.toolkit.spec import Tool

OPEN_TOOLS = frozenset({"socket-for-path", "list-servers"})  # they reach no server that a call names


@record
class Policy:
    """`closed` maps a tool that is not allowed to the key that closed it. A list that is None allows all."""

    is_on: bool = True
    closed: Mapping[str, str] = field(default_factory=dict)
    sockets: frozenset[str] | None = None
    sessions: frozenset[str] | None = None
    panes: frozenset[str] | None = None
    commands: CommandRule | None = None
    allows_raw_mode: bool = True
    allows_create: bool = True
    allows_kill: bool = True
    allows_foreign: bool = True
    person_pause_s: int = 0

    @property
    def is_scoped(self) -> bool:
        return self.sessions is not None or self.panes is not None

    @property
    def asks_of_targets(self) -> bool:
        """Whether some rule has to know what a target is before it lets a call through."""
        return self.is_scoped or self.commands is not None or not self.allows_foreign

    def closing_key(self, tool: str) -> str | None:
        """The key that closes a tool, or what a resource stands for."""
        names = STANDS_FOR.get(tool, (tool,))
        return next((self.closed[name] for name in names if name in self.closed), None)

    def allows_socket(self, socket: str) -> bool:
        return self.sockets is None or _place(socket) in self.sockets


def load(settings: Settings, tools: Sequence[Tool]) -> Policy:
    """Patterns, tools and groups are checked even where security is off: a typo is always told."""
    security = settings.security
    commands, closed = _commands(settings), _closed(settings, tools)
    if not security.enabled:
        return Policy(is_on=False, person_pause_s=security.person_pause_seconds)
    return Policy(
        closed=closed,
        sockets=_sockets(settings),
        sessions=_set(security.allowed_sessions),
        panes=_set(security.allowed_panes),
        commands=commands,
        allows_raw_mode=security.allow_raw_mode,
        allows_create=security.allow_create,
        allows_kill=security.allow_kill,
        allows_foreign=security.allow_foreign,
        person_pause_s=security.person_pause_seconds,
    )


def _set(values: Sequence[str] | None) -> frozenset[str] | None:
    return frozenset(values) if values is not None else None


def _sockets(settings: Settings) -> frozenset[str] | None:
    """As paths; a name of `[servers]` means that server, here or on another host."""
    listed = settings.security.allowed_sockets
    if listed is None:
        return None
    named = {name: entry.socket or default_socket() for name, entry in settings.servers.items()}
    named.setdefault("default", settings.socket or default_socket())
    far = {name: identity(entry.ssh, entry.socket) for name, entry in settings.servers.items() if entry.ssh}
    if settings.ssh:
        far["default"] = identity(settings.ssh, settings.socket)
    return frozenset(far.get(item) or _place(os.path.expanduser(named.get(item, item))) for item in listed)


def _place(socket: str) -> str:
    return socket if is_far(socket) else os.path.realpath(socket)


def _commands(settings: Settings) -> CommandRule | None:
    rule = settings.security.command_filter
    where = settings.origin.of("security.command_filter.patterns")
    patterns = []
    for text in rule.patterns:
        try:
            patterns.append(compiled(text, "patterns"))
        except BadInput as error:
            raise BadInput(f"{where}: {text[:60]!r} is no pattern. {error}") from None
    return None if rule.mode == "off" else CommandRule(rule.mode == "allowlist", tuple(patterns))


def _closed(settings: Settings, tools: Sequence[Tool]) -> dict[str, str]:
    security = settings.security
    offered = [tool for tool in tools if tool.scopes]
    listed = _listed(settings, offered)
    closed: dict[str, str] = {}
    for tool in offered:
        key = next((key for key in gates(tool) if not getattr(security, key)), None)
        if key is not None:
            closed[tool.name] = f"security.{key}"
        elif (tool.name in listed) is (security.tools.mode == "deny"):
            closed[tool.name] = settings.origin.tools or "security.tools"
    return closed


def _listed(settings: Settings, tools: Sequence[Tool]) -> frozenset[str]:
    names = {tool.name for tool in tools}
    found: set[str] = set()
    for item in settings.security.tools.items:
        if item not in names and item not in group_names():
            where = settings.origin.of("security.tools.items")
            raise BadInput(
                f"{where}: there is no tool or group {item[:60]!r}.",
                f"Groups are {', '.join(group_names())}; muxpilot tools --scope all lists the tools.",
            )
        found |= {item} if item in names else members(item, tools)
    return frozenset(found)
