"""The parts of the MCP SDK that are not its public interface: no other module imports them.

Our stdio transport (`stdio_dispatcher.py`, `lifecycle.py`) implements the SDK's `Dispatcher` interface, at a
third of the SDK's own cost per request. It needs these names. They may change with any release of the SDK, so
pyproject.toml bounds its version. Begin an upgrade here; tests/server tests the behaviour that we need.
"""

from __future__ import annotations

from typing import Any

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.runner import serve_connection
from mcp.shared.dispatcher import (
    CallOptions,
    Dispatcher,
    OnNotify,
    OnNotifyIntercept,
    OnRequest,
    coerce_request_id,
    run_notify_intercept,
)
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import (
    cancelled_request_id_from_params,
    handler_exception_to_error_data,
    progress_token_from_params,
)
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext

__all__ = [
    "CallOptions",
    "Connection",
    "Dispatcher",
    "NoBackChannelError",
    "OnNotify",
    "OnNotifyIntercept",
    "OnRequest",
    "SessionMessage",
    "TransportContext",
    "cancelled_request_id_from_params",
    "coerce_request_id",
    "connection_of",
    "handler_exception_to_error_data",
    "progress_token_from_params",
    "run_notify_intercept",
    "serve_connection",
]


def connection_of(ctx: ServerRequestContext[Any]) -> Connection:
    """Return the connection that a request came by. The SDK has no public way to it yet."""
    return ctx.session._connection
