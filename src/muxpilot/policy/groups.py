"""Groups of tools, which `[security.tools]` can name, and the `allow_…` key of each group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from muxpilot.toolkit.spec import Effect, Tool

# Each group that a tool can declare, and the key that must be true for its tools.
ALLOW_KEYS: Mapping[str, str | None] = {
    "socket": "allow_list",
    "list": "allow_list",
    "capture": "allow_capture",
    "watch": "allow_capture",
    "buffer-read": "allow_capture",
    "buffer-write": "allow_capture",
    "create": "allow_create",
    "split": "allow_split",
    "kill": "allow_kill",
    "rename": "allow_rename",
    "move": "allow_move",
    "execute": "allow_execute_command",
    "track": "allow_execute_command",
    "interactive": "allow_send_keys",
    "special-keys": "allow_send_keys",
    "display": None,
}

# Names for several groups.
_COMBINED = {
    "capture": ("capture", "watch"),
    "execute": ("execute", "track"),
    "raw-input": ("interactive", "special-keys"),
}
_READ_GROUPS = ("socket", "list", "capture", "watch", "buffer-read", "execute", "track")


def allow_keys(tool: Tool) -> tuple[str, ...]:
    """Return the allow_… keys that must all be true for a tool."""
    groups = tool.allowed_by if tool.allowed_by is not None else sorted(tool.groups)
    keys = (ALLOW_KEYS[name] for name in groups)
    return tuple(dict.fromkeys(key for key in keys if key is not None))


@cache
def group_names() -> tuple[str, ...]:
    return tuple(f"@{name}" for name in ("all", "read", *sorted({*ALLOW_KEYS, *_COMBINED})))


def group_members(group: str, tools: Iterable[Tool]) -> frozenset[str]:
    """Return the names of the tools in `@group`. @read and @list contain only tools that read."""
    name = group.removeprefix("@")
    if name == "all":
        return frozenset(tool.name for tool in tools)
    wanted = frozenset(_READ_GROUPS if name == "read" else _COMBINED.get(name, (name,)))
    only_reading = name in ("read", "list")
    return frozenset(
        tool.name
        for tool in tools
        if wanted & {*tool.groups} and (tool.effect is Effect.READ or not only_reading)
    )
