"""The fourteen tools of scope `classic`: names, arguments and defaults of the server that they come from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from muxpilot.config.scope import Scope
from muxpilot.dialects.classic import panes, sessions, targets
from muxpilot.dialects.classic.format import told
from muxpilot.dialects.dialect import Spoken, speak
from muxpilot.errors import BadInput
from muxpilot.tmux import Tmux
from muxpilot.toolkit.spec import Tool

_KINDS = ("session", "window", "pane")

Find = Callable[[Tmux, str], Awaitable[Any]]

_AIMS: Mapping[str, Find] = {
    "session_id": targets.session,
    "window_id": targets.window,
    "pane_id": targets.pane,
    "where": targets.place,
}


async def _aim(tmux: Tmux, arguments: dict[str, Any], aims: Mapping[str, Find] = _AIMS) -> dict[str, Any]:
    """The target as an id, and beside it as it was written, which answers repeat."""
    if arguments.get("type", "pane") not in _KINDS:
        raise BadInput("type must be 'session', 'window', or 'pane'.")
    for name, find in aims.items():
        text = arguments.get(name)
        if text:
            arguments |= {name: await find(tmux, str(text)), "given": str(text)}
        elif name in arguments:
            arguments |= {name: None, "given": None}
    return arguments


def _row(native: str, function: Any, **more: Any) -> Spoken:
    wires = {"where": "target", "window_id": "target", "pane_id": "target", "session_id": "session"}
    row = {
        "spoken": f"tmux_{function.__name__}",
        "wires": wires,
        "hidden": frozenset({"given"}),
        "aim": _aim,
        "tells": told,
    }
    return speak(Scope.CLASSIC, native, function, **{**row, **more})


def _killing() -> Spoken:
    named = {"spoken": "tmux_kill", "wires": dict.fromkeys(("session_id", "window_id", "pane_id"), "target")}
    tools = {
        kind: _row(f"kill-{kind}", function, **named)
        for kind, function in zip(
            _KINDS, (sessions.kill_session, sessions.kill_window, sessions.kill_pane), strict=True
        )
    }
    return _row("kill-pane", sessions.kill_pane, switch=("type", "pane", tools), **named)


_TOOLS: tuple[Tool, ...] = (
    _row("list-sessions", sessions.list_sessions),
    _row("create-session", sessions.create_session),
    _row("rename-session", sessions.rename_session, wires={"session_id": "old_name"}),
    _killing(),
    _row("list-windows", sessions.list_windows),
    _row("create-window", sessions.create_window, aim=partial(_aim, aims={"session_id": targets.home})),
    _row("select-window", sessions.select_window),
    _row("rename-window", sessions.rename_window),
    _row("list-panes", panes.list_panes),
    _row("split-pane", panes.split_window),
    _row("select-pane", panes.select_pane),
    _row("resize-pane", panes.resize_pane),
    _row("send-keys", panes.send_keys, types=panes.typed),
    _row("capture-pane", panes.read_pane),
)


class _Classic:
    """Nothing of its own outlives a call."""

    tools = _TOOLS
    instructions = (
        "tmux by its own targets: session, session:window, session:window.pane, or the ids $0, @1, %2. "
        "Creating something answers its ids; failures begin with 'Error:'."
    )

    async def begin(self) -> None:
        """Nothing is to be done."""

    async def close(self) -> None:
        """Nothing is left."""


CLASSIC = _Classic()
