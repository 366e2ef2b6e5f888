"""What the log says about a call: its beginning, its targets and its end. Never the values of arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muxpilot.calls import CallRecord, CallRequest
from muxpilot.tmux import PaneId, SessionId, WindowId
from muxpilot.toolkit.spec import Tool
from muxpilot.trace import Trace, area

_trace = area("calls")


def call_trace(record: CallRecord) -> Trace:
    """Return the logger of one call."""
    if not _trace.is_debug:
        return _trace
    return _trace.child(call=record.number, tool=record.name[:60])


def names_given(tool: Tool | None, raw: Mapping[str, Any]) -> str:
    """Return the names of the arguments that a call gives. Their values may be secrets."""
    if tool is None:
        return ""
    return ",".join(row.wire_name for row in tool.arguments if row.wire_name in raw or row.name in raw)


def log_targets(trace: Trace, request: CallRequest) -> None:
    """Log the ids that the call is about."""
    values = request.arguments.values()
    items = (item for value in values for item in (value if isinstance(value, list) else (value,)))
    ids = [item for item in items if isinstance(item, SessionId | WindowId | PaneId)]
    trace.debug("targets resolved", server=request.tmux.socket, targets=",".join(ids))


def log_end(trace: Trace, record: CallRecord) -> None:
    """Log how the call ended."""
    size = len(record.answer.text) if record.answer is not None else 0
    argument = {} if record.bad_argument is None else {"argument": record.bad_argument}
    ms = f"{record.seconds * 1000:.1f}"
    trace.debug("call ends", outcome=record.outcome, **argument, characters=size, ms=ms)
