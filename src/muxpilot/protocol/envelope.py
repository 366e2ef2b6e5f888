"""The envelope of requests since 2026-07-28: in `_meta`, and over HTTP in headers that say the same."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from muxpilot.protocol.messages import Params, RpcRequest
from muxpilot.protocol.revisions import REVISIONS, STATELESS_VERSIONS, Revision
from muxpilot.protocol.rpc_errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    UNSUPPORTED_VERSION,
    ProtocolError,
)

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"

VERSION_HEADER = "mcp-protocol-version"
_METHOD_HEADER = "mcp-method"
_NAME_HEADER = "mcp-name"
ROUTING_HEADERS = (VERSION_HEADER, _METHOD_HEADER, _NAME_HEADER)

# The parameter that the header Mcp-Name repeats.
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def has_envelope(params: Params) -> bool:
    """Return whether a request claims to have an envelope: one key that no older client sends is enough."""
    meta = params.get("_meta")
    return meta.__class__ is dict and VERSION_KEY in meta


def check_envelope(
    request: RpcRequest, headers: Mapping[str, str] | None = None
) -> tuple[Revision, dict[str, Any]]:
    """Return the revision and the client's capabilities. `headers` are those of an HTTP request."""
    meta = request.params.get("_meta")
    if not isinstance(meta, dict):
        raise ProtocolError(
            INVALID_PARAMS, f"params._meta must be an object with {VERSION_KEY} and {CAPABILITIES_KEY}"
        )
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]
    if missing:
        raise ProtocolError(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}")
    version, capabilities = meta[VERSION_KEY], meta[CAPABILITIES_KEY]
    if headers is not None:
        _check_headers(request, version, headers)
    if not isinstance(version, str):
        raise ProtocolError(INVALID_PARAMS, f"{VERSION_KEY} must be a string")
    revision = find_stateless(version)
    if not isinstance(capabilities, dict):
        raise ProtocolError(INVALID_PARAMS, f"{CAPABILITIES_KEY} must be an object")
    return revision, capabilities


def find_stateless(version: str) -> Revision:
    """Return a revision that needs no handshake. Refuse all others, and name those that are served."""
    if version in STATELESS_VERSIONS:
        return REVISIONS[version]
    raise ProtocolError(
        UNSUPPORTED_VERSION,
        "Unsupported protocol version",
        {"supported": list(STATELESS_VERSIONS), "requested": version},
    )


def _check_headers(request: RpcRequest, version: object, headers: Mapping[str, str]) -> None:
    """Compare the routing headers with the body: proxies route by them."""
    given = headers.get(VERSION_HEADER)
    if given is None or given != version:
        _refuse_header(VERSION_HEADER, VERSION_KEY)
    if headers.get(_METHOD_HEADER) != request.method:
        _refuse_header(_METHOD_HEADER, "method")
    key = _NAMED_BY.get(request.method)
    name = request.params.get(key) if key is not None else None
    if key is not None and name is not None and decode_header(headers.get(_NAME_HEADER)) != name:
        _refuse_header(_NAME_HEADER, f"params.{key}")


def _refuse_header(header: str, key: str) -> None:
    raise ProtocolError(HEADER_MISMATCH, f"The header {header} must be the same as {key} in the body")


_BASE64 = re.compile(r"=\?base64\?(.*)\?=")


def decode_header(value: str | None) -> str | None:
    """Return the text of a header value, which may be written in base64. None: no header, or a bad one."""
    found = _BASE64.fullmatch(value) if value is not None else None
    if found is None:
        return value
    try:
        data = base64.b64decode(found[1], validate=True)
        is_canonical = base64.b64encode(data).decode() == found[1]
        return data.decode() if is_canonical else None
    except (binascii.Error, UnicodeDecodeError):
        return None
