"""Messages are parsed and written exactly as the SDK's models do it, which are the oracle here."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from muxpilot.protocol.messages import (
    MalformedMessage,
    RpcNotification,
    RpcRequest,
    RpcResponse,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    encode_tool_result,
    parse_message,
    to_json_text,
)
from muxpilot.protocol.rpc_errors import ProtocolError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "2.0", "2.0", "1.0", 2]),
        "id": st.integers() | st.text() | VALUES,
        "method": st.text() | VALUES,
        "params": st.dictionaries(st.text(), VALUES, max_size=3) | VALUES,
        "result": st.dictionaries(st.text(), VALUES, max_size=3) | VALUES,
        "error": st.fixed_dictionaries({"code": st.integers(), "message": st.text()}) | VALUES,
    },
)


@given(MESSAGES)
def test_a_message_is_what_the_sdk_takes_it_for(message: dict[str, Any]) -> None:
    line = json.dumps(message).encode()
    try:
        found: object = parse_message(line)
    except MalformedMessage as error:
        found = error
    if isinstance(found, RpcRequest | RpcNotification):
        model = types.JSONRPCRequest if isinstance(found, RpcRequest) else types.JSONRPCNotification
        same = model.model_validate(message)
        assert (found.method, found.params) == (same.method, same.params or {})
    elif isinstance(found, MalformedMessage) and "id" not in message and "method" in message:
        with pytest.raises(ValidationError):
            types.JSONRPCNotification.model_validate(message)
    elif isinstance(found, MalformedMessage) and "method" in message:
        with pytest.raises(ValidationError):
            types.JSONRPCRequest.model_validate(message)


@given(st.integers() | st.text(), st.dictionaries(st.text(), VALUES, max_size=4))
def test_what_is_written_is_read_back(identity: int | str, values: dict[str, Any]) -> None:
    for result in (values, to_json_text(values)):
        line = encode_result(identity, result)
        assert b"\n" not in line
        answer = types.jsonrpc_message_adapter.validate_json(line)
        assert isinstance(answer, types.JSONRPCResponse)
        assert (answer.id, answer.result) == (identity, values)
    assert json.loads(encode_request(identity, "ping", values)) == {
        "jsonrpc": "2.0",
        "id": identity,
        "method": "ping",
        "params": values,
    }
    assert json.loads(encode_notification("a", values))["params"] == values
    assert "params" not in json.loads(encode_notification("a"))


@given(st.text())
def test_the_text_of_a_tool_is_whole_whatever_it_holds(text: str) -> None:
    found = types.CallToolResult.model_validate_json(encode_tool_result(text))
    [block] = found.content
    assert isinstance(block, types.TextContent)
    assert (block.text, found.is_error, found.structured_content) == (text, False, None)


def test_the_data_of_a_tool_is_its_text() -> None:
    text = json.dumps({"a": 'é\n"\\ 🙂'}, ensure_ascii=False, separators=(",", ":"))
    found = json.loads(encode_tool_result(text, is_json=True, is_error=True))
    assert found["structuredContent"] == json.loads(found["content"][0]["text"]) == json.loads(text)
    assert found["isError"] is True


@pytest.mark.parametrize(
    ("line", "code", "identity"),
    [
        (b"", -32700, None),
        (b"[]", -32700, None),
        (b"NaN", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":NaN}}', -32700, None),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"a"}', -32700, None),
        (b"\xef\xbb\xbf{}", -32700, None),
        ('{"jsonrpc":"2.0","id":1,"method":"a"}'.encode("utf-16"), -32700, None),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"a"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":false,"method":"a"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"result":[]}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":null,"result":{}}', -32600, None),
    ],
)
def test_what_is_no_message_says_why(line: bytes, code: int, identity: int | None) -> None:
    with pytest.raises(MalformedMessage) as caught:
        parse_message(line)
    assert (caught.value.code, caught.value.id) == (code, identity)


def test_a_clients_answer_is_a_result_or_an_error() -> None:
    error = {"code": 1, "message": "x"}
    found = [
        parse_message(b'{"jsonrpc":"2.0","id":"a","result":{"b":1}}'),
        parse_message(b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}'),
    ]
    assert found == [RpcResponse("a", {"b": 1}, None), RpcResponse(None, None, error)]


def test_what_utf_8_cannot_hold_does_not_break_an_answer() -> None:
    line = encode_error("\ud800", ProtocolError(-32602, "Unknown tool: \ud800"))
    assert json.loads(line) == {
        "jsonrpc": "2.0",
        "id": "\ud800",
        "error": {"code": -32602, "message": "Unknown tool: ?"},
    }
