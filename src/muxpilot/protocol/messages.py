"""JSON-RPC messages: the bytes of one message become a message, and messages become bytes.

A message is one JSON object; batches are not accepted. An id is an integer or a string, and nothing else:
a request with another id would pass for a notification, and its sender would wait forever.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import Any, NamedTuple, NoReturn

from muxpilot.protocol.rpc_errors import INVALID_REQUEST, PARSE_ERROR, ProtocolError

RequestId = int | str
Params = dict[str, Any]


class RpcRequest(NamedTuple):
    """A message that wants an answer."""

    id: RequestId
    method: str
    params: Params


class RpcNotification(NamedTuple):
    """A message that wants no answer."""

    method: str
    params: Params


class RpcResponse(NamedTuple):
    """A client's answer to a request of ours: a result, or an error."""

    id: RequestId | None
    result: dict[str, Any] | None
    error: dict[str, Any] | None


RpcMessage = RpcRequest | RpcNotification | RpcResponse


class JsonText(str):
    """A JSON object that is written already."""

    __slots__ = ()


Result = dict[str, Any] | JsonText


class MalformedMessage(ProtocolError):
    """What came is not a message. `id` is that of the request, where it can be told."""

    def __init__(self, code: int, message: str, identity: RequestId | None = None) -> None:
        super().__init__(code, message)
        self.id = identity


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode

_ID_TYPES = (int, str)
_ABSENT = object()


def parse_message(line: bytes) -> RpcMessage:
    """Return the message. Raise MalformedMessage for anything else."""
    try:
        message = _decode(line.decode())
    except (ValueError, RecursionError):
        raise MalformedMessage(PARSE_ERROR, "Parse error: the message is not JSON") from None
    if message.__class__ is not dict:
        raise MalformedMessage(PARSE_ERROR, "Parse error: a message is one JSON object")
    identity = message.get("id", _ABSENT)
    has_id = identity.__class__ in _ID_TYPES
    if message.get("jsonrpc") == "2.0" and (has_id or identity is _ABSENT or "method" not in message):
        params = message.get("params")
        method = message.get("method")
        if method.__class__ is str and (params is None or params.__class__ is dict):
            params = params or {}
            return RpcRequest(identity, method, params) if has_id else RpcNotification(method, params)
        if method is None and "method" not in message and (has_id or identity is None):
            return _parse_response(message)
    raise MalformedMessage(INVALID_REQUEST, "Invalid request", identity if has_id else None)


def _parse_response(message: dict[str, Any]) -> RpcResponse:
    identity, result, error = (message.get(key) for key in ("id", "result", "error"))
    is_result = isinstance(result, dict) and identity is not None
    if is_result or (isinstance(error, dict) and isinstance(error.get("code"), int)):
        return RpcResponse(identity, result if is_result else None, None if is_result else error)
    raise MalformedMessage(INVALID_REQUEST, "Invalid request", identity)


def encode_result(identity: RequestId, result: Result) -> bytes:
    """Return the answer to a request."""
    text = result if result.__class__ is JsonText else _encode(result)
    return _to_bytes(f'{{"jsonrpc":"2.0","id":{_encode_id(identity)},"result":{text}}}')


def encode_error(identity: RequestId | None, error: ProtocolError) -> bytes:
    """Return the answer to a request that has failed, or to what is no request at all."""
    body = _encode(error.to_json())
    return _to_bytes(f'{{"jsonrpc":"2.0","id":{_encode_id(identity)},"error":{body}}}')


def encode_notification(method: str, params: Params | None = None) -> bytes:
    """Return a notification."""
    given = {} if params is None else {"params": params}
    return _to_bytes(_encode({"jsonrpc": "2.0", "method": method, **given}))


def encode_request(identity: RequestId, method: str, params: Params) -> bytes:
    """Return a request to the client."""
    return _to_bytes(_encode({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}))


def encode_tool_result(text: str, *, is_error: bool = False, is_json: bool = False) -> JsonText:
    """Return a tool's result with one block of text, which is also its data where `is_json`."""
    data = f',"structuredContent":{text}' if is_json else ""
    flag = "true" if is_error else "false"
    return JsonText(
        f'{{"content":[{{"type":"text","text":{encode_basestring(text)}}}],"isError":{flag}{data}}}'
    )


def to_json_text(result: dict[str, Any]) -> JsonText:
    """Return a result written once, for answers that are sent many times."""
    return JsonText(_encode(result))


def _encode_id(identity: RequestId | None) -> str:
    return str(identity) if identity.__class__ is int else json.dumps(identity)


def _to_bytes(text: str) -> bytes:
    """Encode a message. Lone surrogates, which JSON can spell but UTF-8 cannot, become question marks."""
    return text.encode("utf-8", "replace")
