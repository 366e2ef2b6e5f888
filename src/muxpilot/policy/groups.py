"""Groups of tools: what `[security.tools]` can name, and which `allow_…` key rules them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from muxpilot.toolkit.spec import Effect, Tool

# What a tool declares as its group, and the key that switches it.
GATES: Mapping[str, str | None] = {
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

# Tools whose groups are not, or not only, the one that they declare.
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "list-buffers": ("list", "buffer-read"),
    "start-and-watch": ("execute", "watch"),
}

# Of list-buffers only what there is shows, so allow_list alone rules it.
_RULED_BY: Mapping[str, tuple[str, ...]] = {"list-buffers": ("list",)}

_JOINED = {
    "capture": ("capture", "watch"),
    "execute": ("execute", "track"),
    "raw-input": ("interactive", "special-keys"),
}
_READABLE = ("socket", "list", "capture", "watch", "buffer-read", "execute", "track")

# A resource that no tool of its own stands behind is judged as these.
STANDS_FOR: Mapping[str, tuple[str, ...]] = {
    "server-info": (),
    "pane-info": ("capture-pane", "list-panes"),
    "window-info": ("list-windows",),
    "session-tree": ("list-sessions", "list-windows", "list-panes"),
    "command-result": ("get-command-result",),
}


def own_groups(tool: Tool) -> frozenset[str]:
    return frozenset(_GROUPS.get(tool.name, (tool.group,)))


def gates(tool: Tool) -> tuple[str, ...]:
    """The allow_… keys that must all be true."""
    names = _RULED_BY.get(tool.name) or sorted(own_groups(tool))
    keys = (GATES[name] for name in names)
    return tuple(dict.fromkeys(key for key in keys if key is not None))


@cache
def group_names() -> tuple[str, ...]:
    return tuple(f"@{name}" for name in ("all", "read", *sorted({*GATES, *_JOINED})))


def members(group: str, tools: Iterable[Tool]) -> frozenset[str]:
    """The tools of `@group`; @read and @list hold what only reads."""
    name = group.removeprefix("@")
    if name == "all":
        return frozenset(tool.name for tool in tools)
    wanted = frozenset(_READABLE if name == "read" else _JOINED.get(name, (name,)))
    only_reading = name in ("read", "list")
    return frozenset(
        tool.name
        for tool in tools
        if own_groups(tool) & wanted and (tool.effect is Effect.READ or not only_reading)
    )
