"""The brief listing of tools: each word of tools/list costs every client tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.toolkit.argument_types import Schema
from muxpilot.toolkit.arguments import Argument
from muxpilot.toolkit.spec import SOCKET, Tool


def list_briefly(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return the rows of tools/list, shorter than `Tool.listing` by what few agents need.

    `socket` is left out, which every tool takes all the same, and so are descriptions that repeat a name. Of
    answers only the names of fields are listed, and once where several tools answer with the same fields.
    The schemas are open.
    """
    rows: list[dict[str, Any]] = []
    answers: list[Schema] = []
    for tool in tools:
        row = tool.listing
        taken: Mapping[str, Any] = row["inputSchema"]["properties"]
        given = {
            argument.wire_name: _without_description(taken[argument.wire_name], argument)
            for argument in tool.arguments
            if argument is not SOCKET
        }
        row["inputSchema"] = {**row["inputSchema"], "properties": given}
        if tool.answer_fields is not None:
            fields: Schema = {name: {} for name in tool.answer_fields}
            is_new = fields not in answers
            answers.append(fields)
            row["outputSchema"] = {"type": "object"} | ({"properties": fields} if is_new else {})
        rows.append(row)
    return rows


def _without_description(schema: Mapping[str, Any], argument: Argument) -> Schema:
    """Return the schema of an argument, without its description where the name says it."""
    is_evident = ArgumentFlag.EVIDENT in argument.flags
    return {key: value for key, value in schema.items() if key != "description" or not is_evident}
