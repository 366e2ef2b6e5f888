"""Encode answers fast: a tool's text is the JSON of its data, so that JSON is not made a second time."""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import Any

import mcp_types as types

_ANSWER = (
    '{"jsonrpc":"2.0","id":%s,"result":'
    '{"content":[{"type":"text","text":%s}],"isError":false,"structuredContent":%s}}\n'
)


class PreSerialized(dict[str, Any]):
    """The data of an answer together with its JSON, which is also the answer's text."""

    __slots__ = ("text",)

    def __init__(self, data: dict[str, Any], text: str) -> None:
        super().__init__(data)
        self.text = text


def encode_message(message: types.JSONRPCMessage) -> bytes:
    """Return a message as the line that goes to the client."""
    if isinstance(message, types.JSONRPCResponse):
        data = message.result.get("structuredContent")
        if isinstance(data, PreSerialized):
            line = _ANSWER % (json.dumps(message.id), encode_basestring(data.text), data.text)
            return line.encode()
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
