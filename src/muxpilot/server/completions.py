"""Completions: ids and names of panes, sessions, windows and buffers for an argument that is being typed."""

from __future__ import annotations

from typing import Any

from muxpilot.protocol.messages import Params
from muxpilot.protocol.rpc_errors import INVALID_PARAMS, ProtocolError
from muxpilot.resources import Resources
from muxpilot.server.prompts import PROMPTS

MOST_VALUES = 100


async def complete(resources: Resources, params: Params) -> dict[str, Any]:
    """Return the values of an argument that begin with what was typed. Arguments of prompts have none."""
    ref, argument = params["ref"], params["argument"]
    name = argument["name"]
    if name not in _arguments_of(resources, ref):
        raise ProtocolError(INVALID_PARAMS, f"There is no argument {name[:40]!r} to complete")
    values = await resources.list_values(name) if ref["type"] == "ref/resource" else []
    found = [value for value in values if value.startswith(argument["value"])]
    shown = found[:MOST_VALUES]
    return {"completion": {"values": shown, "total": len(found), "hasMore": len(found) > len(shown)}}


def _arguments_of(resources: Resources, ref: Params) -> list[str]:
    """Return the arguments of a prompt, or the variables of an address; none for what does not exist."""
    if ref["type"] == "ref/prompt":
        prompt = PROMPTS.get(str(ref.get("name")))
        return [row.name for row in prompt.arguments] if prompt is not None else []
    if ref["type"] == "ref/resource":
        return [name for row in resources.rows if row.template == ref.get("uri") for name in row.variables]
    raise ProtocolError(INVALID_PARAMS, "ref.type must be ref/prompt or ref/resource")
