"""The fourteen tools of scope `classic`: names, arguments and defaults of the server that they come from.

Most are rows: a native tool, arguments, and a format for its answer. The others are in own_tools.py.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from muxpilot.config.scope import Scope
from muxpilot.dialects.classic import own_tools, targets
from muxpilot.dialects.classic.format import format_error
from muxpilot.dialects.dialect import DialectTool, call_native, dialect_tool
from muxpilot.errors import BadInput, NameTaken
from muxpilot.tmux import PaneId, SessionId, Tmux, WindowId
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.toolkit.argument_types import argument_type
from muxpilot.toolkit.arguments import REQUIRED, Argument
from muxpilot.toolkit.spec import Tool
from muxpilot.tools.context import Context

_TARGETS = {"session": SessionId, "window": WindowId, "pane": PaneId}
_DIRECTIONS = ("up", "down", "left", "right")
_SIZE = {"width": 80, "height": 24}  # of a session without clients, as tmux itself chooses it

Find = Callable[[Tmux, str], Awaitable[Any]]

_FINDERS: Mapping[str, Find] = {
    "session_id": targets.find_session,
    "window_id": targets.find_window,
    "pane_id": targets.find_pane,
    "where": targets.find_session_or_window,
}


async def _resolve(
    tmux: Tmux, arguments: dict[str, Any], finders: Mapping[str, Find] = _FINDERS
) -> dict[str, Any]:
    """Replace the target by an id, and keep it as the caller wrote it in `given`: answers repeat it."""
    if arguments.get("type", "pane") not in _TARGETS:
        raise BadInput("type must be 'session', 'window', or 'pane'.")
    for name, find in finders.items():
        text = arguments.get(name)
        if text:
            arguments |= {name: await find(tmux, str(text)), "given": str(text)}
        elif name in arguments:
            arguments |= {name: None, "given": None}
    return arguments


def _own(native: str, function: Any, **more: Any) -> DialectTool:
    """Make a tool from a function in own_tools.py."""
    wire_names = {"where": "target", "window_id": "target", "pane_id": "target", "session_id": "session"}
    row = {
        "dialect_name": f"tmux_{function.__name__}",
        "wire_names": wire_names,
        "hidden": frozenset({"given"}),
        "resolve": _resolve,
        "format_error": format_error,
    }
    return dialect_tool(Scope.CLASSIC, native, function, **{**row, **more})


def _row(
    native: str,
    name: str,
    description: str,
    arguments: tuple[Argument, ...],
    answer: Callable[..., str],
    *,
    to_native: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    **more: Any,
) -> DialectTool:
    """Make a tool from a row. `answer` gets the native answer, and the arguments by name."""

    async def run(ctx: Context, given: str | None = None, **values: Any) -> str:
        result = await call_native(ctx, native, to_native(values))
        return answer(result, given=given, **values)

    run.__doc__, run.__name__ = description, name
    return _own(native, run, own_arguments=arguments, **more)


def _argument(
    name: str, annotation: Any, description: str, default: Any = REQUIRED, *flags: ArgumentFlag
) -> Argument:
    return Argument(name, name, argument_type(annotation), description, default, frozenset(flags))


def _without_type(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != "type"}


def _kill_tool() -> DialectTool:
    """Make the one tool that kills a session, a window or a pane, as its argument `type` says."""
    words = 'Session, window or pane to kill (e.g. "mysession", "mysession:0", "%3")'
    type_argument = _argument("type", str, "What to kill: session, window, or pane", "pane")
    wire_names = dict.fromkeys(("session_id", "window_id", "pane_id"), "target")

    def variant(noun: str, target: type, **more: Any) -> DialectTool:
        """Make the tool for one value of `type`."""
        return _row(
            f"kill-{noun}",
            "kill",
            "Kill a tmux session, window, or pane.",
            (_argument(f"{noun}_id", target, words), type_argument),
            lambda result, given, **_: f"Killed {noun} '{given}'.",
            to_native=_without_type,
            wire_names=wire_names,
            **more,
        )

    tools = {noun: variant(noun, target) for noun, target in _TARGETS.items()}
    return variant("pane", PaneId, variants=("type", "pane", tools))


def _created_session(result: Any, name: str, **_: object) -> str:
    if not result.created:
        raise NameTaken(name)
    ids = f"session_id={result.session_id} window_id={result.window_id} pane_id={result.pane_id}"
    return f"Session '{name}' created. {ids}"


def _resize_arguments(values: dict[str, Any]) -> dict[str, Any]:
    """Keep either the absolute size or the direction."""
    pane = {"pane_id": values["pane_id"]}
    if values["width"] is not None or values["height"] is not None:
        return {**pane, "width": values["width"], "height": values["height"]}
    if values["direction"] not in _DIRECTIONS:
        raise BadInput("direction must be 'up', 'down', 'left', or 'right'.")
    return {**pane, "direction": values["direction"], "amount": values["amount"]}


_NEW_NAME = _argument("new_name", str, "New name")
_WINDOW = _argument("window_id", WindowId, 'Window target (e.g. "session:window", "@1")')
_PANE = _argument("pane_id", PaneId, own_tools.PANE_TARGET)

_TOOLS: tuple[Tool, ...] = (
    _own("list-sessions", own_tools.list_sessions),
    _row(
        "create-session",
        "create_session",
        "Create a new tmux session.",
        (
            _argument("name", str, "Name for the new session"),
            _argument(
                "command",
                str | None,
                "Optional command to run in the initial window",
                None,
                ArgumentFlag.SHELL,
            ),
            _argument("window_name", str | None, "Optional name for the first window", None),
        ),
        _created_session,
        to_native=lambda values: {**values, "command": values["command"] or None, **_SIZE},
    ),
    _row(
        "rename-session",
        "rename_session",
        "Rename a tmux session.",
        (_argument("session_id", SessionId, "Current session name or ID"), _NEW_NAME),
        lambda result, given, new_name, **_: f"Session '{given}' renamed to '{new_name}'.",
        wire_names={"session_id": "old_name"},
    ),
    _kill_tool(),
    _own("list-windows", own_tools.list_windows),
    _own(
        "create-window",
        own_tools.create_window,
        resolve=partial(_resolve, finders={"session_id": targets.find_session_for_window}),
    ),
    _row(
        "select-window",
        "select_window",
        "Switch to a tmux window.",
        (_WINDOW,),
        lambda result, given, **_: f"Selected window '{given}'.",
    ),
    _row(
        "rename-window",
        "rename_window",
        "Rename a tmux window.",
        (_WINDOW, _NEW_NAME),
        lambda result, given, new_name, **_: f"Window '{given}' renamed to '{new_name}'.",
        to_native=lambda values: {"window_id": values["window_id"], "name": values["new_name"]},
    ),
    _own("list-panes", own_tools.list_panes),
    _own("split-pane", own_tools.split_window),
    _row(
        "select-pane",
        "select_pane",
        "Select/focus a specific tmux pane.",
        (_PANE,),
        lambda result, given, **_: f"Selected pane '{given}'.",
    ),
    _row(
        "resize-pane",
        "resize_pane",
        "Resize a tmux pane. Use direction+amount for relative resize, or width/height for absolute resize.",
        (
            _argument("pane_id", PaneId, 'Pane target (e.g. "%3", "session:window.pane")'),
            _argument("direction", str | None, 'Direction to grow: "up", "down", "left", or "right"', None),
            _argument("amount", int, "Number of cells to resize by (default 5). Used with direction", 5),
            _argument("width", int | None, "Absolute width in columns. Overrides direction/amount", None),
            _argument("height", int | None, "Absolute height in rows. Overrides direction/amount", None),
        ),
        lambda result, given, **_: f"Pane '{given}' resized.",
        to_native=_resize_arguments,
    ),
    _own("send-keys", own_tools.send_keys, typed_input=own_tools.keys_typed),
    _own("capture-pane", own_tools.read_pane),
)


class _Classic:
    """The dialect. It keeps no state between calls."""

    tools = _TOOLS
    instructions = (
        "tmux by its own targets: session, session:window, session:window.pane, or the ids $0, @1, %2. "
        "Creating something answers its ids; failures begin with 'Error:'."
    )

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


CLASSIC = _Classic()
