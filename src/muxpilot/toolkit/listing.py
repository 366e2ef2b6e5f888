"""The brief listing of tools: each word of tools/list costs every client tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muxpilot.toolkit.argument_types import Schema
from muxpilot.toolkit.spec import SOCKET, Tool


def list_briefly(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return the rows of tools/list, shorter than `Tool.listing` by what few agents need.

    `socket` is left out, which every tool takes all the same. Of answers only the names of fields are listed,
    and once where several tools answer with the same fields. The schemas are open.
    """
    rows: list[dict[str, Any]] = []
    answers: list[Schema] = []
    for tool in tools:
        row = tool.listing
        given = {name: item for name, item in _properties(row, "inputSchema").items() if name != SOCKET.name}
        row["inputSchema"] = {**row["inputSchema"], "properties": given}
        if "outputSchema" in row:
            fields: Schema = {name: {} for name in _properties(row, "outputSchema")}
            is_new = fields not in answers
            answers.append(fields)
            row["outputSchema"] = {"type": "object"} | ({"properties": fields} if is_new else {})
        rows.append(row)
    return rows


def _properties(row: Mapping[str, Any], schema: str) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = row[schema]["properties"]
    return properties
