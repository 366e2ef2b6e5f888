"""Answers that are JSON already: what a tool's text says is not written a second time as its data."""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import Any

import mcp_types as types

_ANSWER = (
    '{"jsonrpc":"2.0","id":%s,"result":'
    '{"content":[{"type":"text","text":%s}],"isError":false,"structuredContent":%s}}\n'
)


class Written(dict[str, Any]):
    """Data of an answer, and its JSON, which is the answer's text too."""

    __slots__ = ("text",)

    def __init__(self, data: dict[str, Any], text: str) -> None:
        super().__init__(data)
        self.text = text


def line_of(message: types.JSONRPCMessage) -> bytes:
    """A message as it goes to the client."""
    if isinstance(message, types.JSONRPCResponse):
        data = message.result.get("structuredContent")
        if isinstance(data, Written):
            line = _ANSWER % (json.dumps(message.id), encode_basestring(data.text), data.text)
            return line.encode()
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
