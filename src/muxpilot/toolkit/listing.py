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

    `socket` is left out, which every tool takes all the same. So are descriptions that say no more than the
    name of their argument, or that an earlier tool has for an argument of the same name. Of answers only the
    names of fields are listed, and once where several tools answer with the same fields.
    The schemas are open.
    """
    rows: list[dict[str, Any]] = []
    answers: list[Schema] = []
    described: set[tuple[str, str]] = set()
    for tool in tools:
        row = tool.listing_without_answer
        taken: Mapping[str, Any] = row["inputSchema"]["properties"]
        given = {
            argument.wire_name: _describe_once(taken[argument.wire_name], argument, described)
            for argument in tool.arguments
            if argument is not SOCKET
        }
        row["inputSchema"] = {**row["inputSchema"], "properties": given}
        names = tool.answer_fields
        if names is not None:
            fields: Schema = {name: {} for name in names}
            is_new = fields not in answers
            answers.append(fields)
            row["outputSchema"] = {"type": "object"} | ({"properties": fields} if is_new else {})
        rows.append(row)
    return rows


def _describe_once(schema: Mapping[str, Any], argument: Argument, described: set[tuple[str, str]]) -> Schema:
    """Return the schema of an argument, without a description that says nothing new."""
    entry = (argument.wire_name, schema.get("description", ""))
    is_known = ArgumentFlag.EVIDENT in argument.flags or entry in described
    described.add(entry)
    return {key: value for key, value in schema.items() if key != "description" or not is_known}
