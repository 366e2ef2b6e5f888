"""Completions: the ids and names of panes, sessions, windows and buffers for an argument that is being typed.

Each comes from the tool that lists such things, so that the policy decides what is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from muxpilot.app import App
from muxpilot.errors import NoServer
from muxpilot.protocol.messages import Params
from muxpilot.protocol.rpc_errors import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError
from muxpilot.server.prompts import PROMPTS

MOST_VALUES = 100


class _Lister(NamedTuple):
    """The tool that lists the values of an argument, and where they are in its answer."""

    tool: str
    rows: str
    fields: tuple[str, ...]


_LISTERS: Mapping[str, _Lister] = {
    "paneId": _Lister("list-panes", "panes", ("id",)),
    "windowId": _Lister("list-windows", "windows", ("id",)),
    "sessionId": _Lister("list-sessions", "sessions", ("name", "id")),
    "commandId": _Lister("list-commands", "commands", ("commandId",)),
    "name": _Lister("list-buffers", "buffers", ("name",)),
}


async def complete(app: App, params: Params) -> dict[str, Any]:
    """Return the values of an argument that begin with what was typed. Others have no completions."""
    ref, argument = params["ref"], params["argument"]
    name = argument["name"]
    _check_reference(app, ref, name)
    values = await _list_values(app, _LISTERS[name]) if name in _LISTERS else []
    found = [value for value in values if value.startswith(argument["value"])]
    shown = found[:MOST_VALUES]
    return {"completion": {"values": shown, "total": len(found), "hasMore": len(found) > len(shown)}}


def _check_reference(app: App, ref: Params, name: str) -> None:
    """Refuse a prompt, a template or an argument that does not exist."""
    kind = ref["type"]
    if kind == "ref/prompt":
        prompt = PROMPTS.get(str(ref.get("name")))
        known = () if prompt is None else [row.name for row in prompt.arguments]
    elif kind == "ref/resource":
        templates = [row.template for row in app.resources.rows if row.template == ref.get("uri")]
        known = [word for word in _LISTERS if templates and f"{{{word}}}" in templates[0]]
        known += [word for word in ("lines", "watchId") if templates and f"{{{word}}}" in templates[0]]
    else:
        raise ProtocolError(INVALID_PARAMS, "ref.type must be ref/prompt or ref/resource")
    if name not in known:
        raise ProtocolError(INVALID_PARAMS, f"There is no argument {name[:40]!r} to complete")


async def _list_values(app: App, lister: _Lister) -> list[str]:
    if not app.dispatch.is_tool_open(lister.tool):
        return []
    answer = await app.dispatch.read(lister.tool, {})
    if answer.error == NoServer.code:
        return []
    if answer.error is not None or answer.structured is None:
        raise ProtocolError(INTERNAL_ERROR, answer.text)
    rows = answer.structured[lister.rows]
    return list(dict.fromkeys(str(row[field]) for row in rows for field in lister.fields))
