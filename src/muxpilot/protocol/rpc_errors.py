"""The errors of JSON-RPC and MCP that a client can get."""

from __future__ import annotations

from typing import Any

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

CONNECTION_CLOSED = -32000
RESOURCE_NOT_FOUND = -32002  # until 2025-11-25; INVALID_PARAMS since
HEADER_MISMATCH = -32020
MISSING_CLIENT_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
REQUEST_CANCELLED = -32800  # HTTP until 2025-11-25: a cancelled request is answered, to end its response

# The status of an HTTP response that holds only this error, since 2026-07-28. Others have 200.
HTTP_STATUS = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}


class ProtocolError(Exception):
    """A request that is answered with an error of the protocol. `data` is for programs."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    def to_json(self) -> dict[str, Any]:
        """Return the error as a response holds it."""
        error: dict[str, Any] = {"code": self.code, "message": str(self)}
        return error if self.data is None else {**error, "data": self.data}
