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
        taken: Mapping[str, Any] = row["inputSchema"]["properties"]
        given = {name: item for name, item in taken.items() if name != SOCKET.name}
        row["inputSchema"] = {**row["inputSchema"], "properties": given}
        if tool.answer_fields is not None:
            fields: Schema = {name: {} for name in tool.answer_fields}
            is_new = fields not in answers
            answers.append(fields)
            row["outputSchema"] = {"type": "object"} | ({"properties": fields} if is_new else {})
        rows.append(row)
    return rows
