"""The policy in force: built from the settings and checked once at the start."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from muxpilot.config.model import SecuritySettings, Settings
from muxpilot.errors import BadInput
from muxpilot.patterns import compile_regex
from muxpilot.policy.commands import KEY as COMMAND_FILTER
from muxpilot.policy.commands import CommandRule
from muxpilot.policy.groups import allow_keys, group_members, group_names
from muxpilot.records import record
from muxpilot.tmux.hosts.routes import is_far_identity
from muxpilot.tmux.servers import ServerAddress
from muxpilot.toolkit.spec import Effect, Tool
from muxpilot.trace import area

_trace = area("policy")


@record
class AskedCommands:
    """Commands that a person must allow first, and the key that says so."""

    key: str
    rule: CommandRule


@record
class Policy:
    """The rules. `closing_keys` maps closed tools to their keys. A list that is None allows all."""

    is_on: bool = True
    closing_keys: Mapping[str, str] = field(default_factory=dict)
    sockets: frozenset[str] | None = None
    sessions: frozenset[str] | None = None
    panes: frozenset[str] | None = None
    commands: CommandRule | None = None
    # What a person must allow first: tools with the keys that say so, calls that kill, and commands.
    asking_keys: Mapping[str, str] = field(default_factory=dict)
    kills_ask_by: str | None = None
    asked_commands: tuple[AskedCommands, ...] = ()
    allows_raw_mode: bool = True
    allows_create: bool = True
    allows_kill: bool = True
    allows_capture: bool = True
    allows_typing: bool = True
    allows_foreign: bool = True
    person_pause_s: int = 0
    # The tools that a reader of resources represents: it is closed if one of them is.
    stands_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)

    @property
    def is_scoped(self) -> bool:
        return self.sessions is not None or self.panes is not None

    @property
    def restricts_nothing(self) -> bool:
        """Return whether every call is allowed that does not reach muxpilot's own pane."""
        return not self.is_on or self == Policy(person_pause_s=self.person_pause_s)

    @property
    def judges_reads(self) -> bool:
        """Return whether a call that only reads must be judged by more than its tool and server."""
        return self.is_scoped or self.judges_texts or bool(self.asking_keys)

    @property
    def judges_texts(self) -> bool:
        """Return whether a rule needs to know the texts that would reach shells."""
        return self.commands is not None or bool(self.asked_commands)

    @property
    def needs_targets(self) -> bool:
        """Return whether a rule needs to know the targets of a call."""
        return self.is_scoped or self.judges_texts or not self.allows_foreign

    def asking_key(self, tool: str) -> str | None:
        """Return the key by which calls of a tool, or of one that it represents, ask a person first."""
        names = self.stands_for.get(tool, (tool,))
        return next((self.asking_keys[name] for name in names if name in self.asking_keys), None)

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
    asking, asked_commands = _find_asking_tools(settings, tools), _find_asked_commands(settings)
    if not security.enabled:
        return Policy(is_on=False, person_pause_s=security.person_pause_seconds)
    return Policy(
        closing_keys=closed,
        sockets=_resolve_sockets(settings),
        sessions=_frozen_or_none(security.allowed_sessions),
        panes=_frozen_or_none(security.allowed_panes),
        commands=commands if security.command_filter.mode != "ask" else None,
        asking_keys=asking,
        kills_ask_by="security.ask" if "@kill" in security.ask else None,
        asked_commands=asked_commands,
        allows_raw_mode=security.allow_raw_mode,
        allows_create=security.allow_create,
        allows_kill=security.allow_kill,
        allows_capture=security.allow_capture,
        allows_typing=security.allow_send_keys,
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
    named = {"default": ServerAddress(settings.socket, settings.ssh, settings.exec_command)}
    for name, entry in settings.servers.items():
        named[name] = ServerAddress(entry.socket, entry.ssh, entry.exec_text)
    return frozenset(_normalize_socket(named[item].identity if item in named else item) for item in listed)


def _normalize_socket(socket: str) -> str:
    return socket if is_far_identity(socket) else os.path.realpath(os.path.expanduser(socket))


def _compile_command_rule(settings: Settings) -> CommandRule | None:
    rule = settings.security.command_filter
    patterns = _compile_patterns(settings, "patterns", rule.patterns)
    if patterns and rule.mode == "off":
        where = settings.origin.locate("security.command_filter.patterns")
        _trace.warning(f"{where} does nothing: mode is off. Set it to denylist, allowlist or ask")
    return None if rule.mode == "off" else CommandRule(rule.mode == "allowlist", patterns)


def _compile_patterns(settings: Settings, name: str, texts: Sequence[str]) -> tuple[Any, ...]:
    """Compile the patterns of a key of the command filter. Raise BadInput that names the key's line."""
    patterns = []
    for text in texts:
        try:
            patterns.append(compile_regex(text, name))
        except BadInput as error:
            where = settings.origin.locate(f"security.command_filter.{name}")
            raise BadInput(f"{where}: {text[:60]!r} is not a pattern. {error}") from None
    return tuple(patterns)


def _find_closed_tools(settings: Settings, tools: Sequence[Tool]) -> dict[str, str]:
    security = settings.security
    offered = [tool for tool in tools if tool.scopes]
    listed = _expand_tool_list(settings, offered, security.tools.items, "security.tools.items")
    closed: dict[str, str] = {}
    for tool in offered:
        key = next((key for key in allow_keys(tool) if not getattr(security, key)), None)
        if security.preset == "read-only" and tool.effect is not Effect.READ:
            closed[tool.name] = "security.preset"
        elif key is not None:
            closed[tool.name] = f"security.{key}"
        elif (tool.name in listed) is (security.tools.mode == "deny"):
            closed[tool.name] = settings.origin.tools or "security.tools"
    return closed


def _find_asking_tools(settings: Settings, tools: Sequence[Tool]) -> dict[str, str]:
    """Return the tools whose calls ask a person first, each with the key that says so."""
    offered = [tool for tool in tools if tool.scopes]
    asking = _expand_tool_list(settings, offered, settings.security.ask, "security.ask")
    return dict.fromkeys(sorted(asking), "security.ask")


def _find_asked_commands(settings: Settings) -> tuple[AskedCommands, ...]:
    """Return the rules for commands that ask a person first: those of the filter, and of the preset."""
    found: list[AskedCommands] = []
    rule = settings.security.command_filter
    asked = _compile_patterns(settings, "ask_patterns", rule.ask_patterns)
    if rule.mode == "ask":
        asked = (*_compile_patterns(settings, "patterns", rule.patterns), *asked)
    if asked or rule.mode == "ask":
        found.append(AskedCommands(COMMAND_FILTER, _rule_that_asks(asked)))
    if settings.security.preset != SecuritySettings().preset:
        from muxpilot.config.presets import PRESETS  # most runs have none

        texts = PRESETS[settings.security.preset].asked_commands
        patterns = tuple(compile_regex(text, "preset") for text in texts)
        if patterns:
            found.append(AskedCommands("security.preset", _rule_that_asks(patterns)))
    return tuple(found)


def _rule_that_asks(patterns: tuple[Any, ...]) -> CommandRule:
    return CommandRule(is_allowlist=False, patterns=patterns, match_words="must be allowed by a person")


def _expand_tool_list(
    settings: Settings, tools: Sequence[Tool], items: Sequence[str], key: str
) -> frozenset[str]:
    """Return the tools that a list of names and groups means. `key` is the key of the list."""
    names = {tool.name for tool in tools}
    found: set[str] = set()
    for item in items:
        if item not in names and item not in group_names():
            where = settings.origin.locate(key)
            raise BadInput(
                f"{where}: there is no tool or group {item[:60]!r}.",
                f"Groups are {', '.join(group_names())}; muxpilot tools --scope all lists the tools.",
            )
        found |= {item} if item in names else group_members(item, tools)
    return frozenset(found)
