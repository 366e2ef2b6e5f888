"""Calls of every tool whose answer holds a token, to see what `redact` takes out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from muxpilot.tools import TOOLS
from tests.redaction.planted import TOKEN, Planted, ask, ended_watch, new_command
from tests.rigs.wire import Wire

Arguments = Callable[[Planted, Wire], Awaitable[dict[str, Any]]]


def fixed(**arguments: Any) -> Arguments:
    async def make(planted: Planted, wire: Wire) -> dict[str, Any]:
        return arguments

    return make


def at(pane: str, **arguments: Any) -> Arguments:
    """Make the arguments of a call at one of the panes with the token."""

    async def make(planted: Planted, wire: Wire) -> dict[str, Any]:
        return {"paneId": await getattr(planted, pane)(), **arguments}

    return make


def with_new(make: Callable[[Planted], dict[str, Any]]) -> Arguments:
    async def call(planted: Planted, wire: Wire) -> dict[str, Any]:
        return make(planted)

    return call


async def _rename_session(planted: Planted, wire: Wire) -> dict[str, Any]:
    made = await wire.call("create-session", name=f"plain-{planted.token_name()[-3:]}", command="cat")
    return {"sessionId": made["sessionId"], "newName": planted.token_name()}


async def _rename_window(planted: Planted, wire: Wire) -> dict[str, Any]:
    return {"windowId": planted.window_of(await planted.window()), "name": TOKEN}


async def _break_pane(planted: Planted, wire: Wire) -> dict[str, Any]:
    made = await wire.call("split-pane", paneId=await planted.window(), command="cat")
    return {"paneId": made["paneId"], "name": TOKEN}


async def _result(planted: Planted, wire: Wire) -> dict[str, Any]:
    return {"commandId": await new_command(planted, wire)}


async def _watch(planted: Planted, wire: Wire) -> dict[str, Any]:
    return {"watchId": await ended_watch(planted, wire)}


async def _run_on(planted: Planted, wire: Wire) -> dict[str, Any]:
    return {"command": f"echo {TOKEN}", "panes": [{"paneId": await planted.shell()}]}


async def _anchor(planted: Planted, wire: Wire) -> dict[str, Any]:
    anchor = {"offsetBytes": 0, "matchLen": 1, "buffer": planted.buffer()}
    return {"anchor": anchor, "query": "marker", "mode": "literal", "contextBytes": 500}


async def _saved(planted: Planted, wire: Wire) -> dict[str, Any]:
    return {"name": planted.buffer(), "path": f"{TOKEN}.txt"}


async def _loaded(planted: Planted, wire: Wire) -> dict[str, Any]:
    await ask(wire, "save-buffer", await _saved(planted, wire))
    return {"name": planted.token_name(), "path": f"{TOKEN}.txt"}


async def buffer_with_token_name(planted: Planted, wire: Wire) -> dict[str, Any]:
    name = planted.token_name()
    await wire.call("set-buffer", name=name, content="x")
    return {"name": name}


async def _renamed_buffer(planted: Planted, wire: Wire) -> dict[str, Any]:
    return {"from": planted.buffer(), "to": planted.token_name()}


async def _list_commands(planted: Planted, wire: Wire) -> dict[str, Any]:
    await new_command(planted, wire)
    return {}


async def _watched(planted: Planted, wire: Wire) -> dict[str, Any]:
    pane = await planted.chatty()
    cursor = (await wire.call("read-pane", paneId=pane))["cursor"]
    await wire.call("send-enter", paneId=pane)
    return {"paneId": pane, "triggers": "pattern:say .*", "since": cursor}


async def _recorded(planted: Planted, wire: Wire) -> dict[str, Any]:
    path = planted.folder.parent / f"{planted.token_name()}.cast"
    return {"paneId": await planted.window(), "action": "start", "path": str(path)}


KEYS = {tool.name: at("chatty", until="pattern:say .*") for tool in TOOLS if tool.group == "special-keys"}

SHOWS: dict[str, Arguments] = {
    **KEYS,
    "ask-person": fixed(question="Where?", paneId=f"{TOKEN}-none"),
    "socket-for-path": fixed(path=f"/tmp/{TOKEN}"),
    "list-sessions": fixed(),
    "find-session": fixed(name=TOKEN),
    "get-current-session": fixed(),
    "create-session": fixed(name=TOKEN),
    "rename-session": _rename_session,
    "list-windows": fixed(),
    "create-window": fixed(sessionId=TOKEN, name=TOKEN, command="cat"),
    "rename-window": _rename_window,
    "list-panes": fixed(),
    "rename-pane": at("window", title=TOKEN),
    "break-pane": _break_pane,
    "list-clients": fixed(),
    "capture-pane": at("shown"),
    "read-pane": at("shown"),
    "search-panes": at("shown", query="marker"),
    "read-screen": at("menu"),
    "send-mouse": at("chatty", row=1, column=1, until="pattern:say .*"),
    "execute-command": at("shell", command=f"echo {TOKEN}"),
    "get-command-result": _result,
    "list-commands": _list_commands,
    "cancel-command": _result,
    "command-result": _result,
    "run-on": _run_on,
    "run-in-repl": at("chatty", input="x", timeout=2, promptPattern="say .*"),
    "pane-state": at("shown"),
    "start-and-watch": at("shell", command=f"echo {TOKEN}", pattern="ghp.*"),
    "watch-pane": _watched,
    "get-watch": _watch,
    "record-pane": _recorded,
    "send-keys": at("chatty", keys="x", until="pattern:say .*"),
    "paste-text": at("chatty", content="x", until="pattern:say .*"),
    "list-buffers": buffer_with_token_name,
    "show-buffer": with_new(lambda planted: {"name": planted.buffer()}),
    "save-buffer": _saved,
    "load-buffer": _loaded,
    "set-buffer": with_new(lambda planted: {"name": planted.token_name(), "content": "x"}),
    "append-buffer": with_new(lambda planted: {"name": planted.token_name(), "content": "x"}),
    "delete-buffer": buffer_with_token_name,
    "rename-buffer": _renamed_buffer,
    "search-buffer": with_new(
        lambda planted: {"query": "marker", "mode": "literal", "buffer": planted.buffer(), "contextBytes": 60}
    ),
    "subsearch-buffer": _anchor,
    "screenshot-pane": at("shown", output="svg"),
}

# Answers of ids, numbers and words of muxpilot's own. Their errors are redacted as all others are.
SILENT = frozenset(
    "kill-session select-window kill-window move-window select-layout set-synchronize-panes split-pane "
    "select-pane zoom-pane resize-pane join-pane swap-pane kill-pane respawn-pane detach-client list-servers "
    "display-message wait-for-pane-change notify-when cancel-watch send-hex write-to-display".split()
)
