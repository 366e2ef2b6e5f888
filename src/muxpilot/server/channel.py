"""Claude Code's channel: push the results of watches into the client's conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from muxpilot.server.client_connection import ClientConnection
from muxpilot.toolkit.answers import to_json
from muxpilot.watch.result import WatchResult

CAPABILITY: dict[str, dict[str, Any]] = {"claude/channel": {}}
METHOD = "notifications/claude/channel"


def push_watch_results(client: ClientConnection) -> Callable[[WatchResult, int | None], Awaitable[None]]:
    """Return a function that pushes the result of a watch, whether a call waits for it or not."""

    async def push(result: WatchResult, exit_code: int | None) -> None:
        await client.notify(METHOD, channel_message(result, exit_code))

    return push


def channel_message(result: WatchResult, exit_code: int | None) -> dict[str, Any]:
    """Build the notification. Each value of `meta` is a string, empty where the value is not known."""
    state = to_json(result.pane_state)
    code = state["exitCode"] if exit_code is None else exit_code
    meta = {
        "paneId": result.pane_id,
        "event": result.event,
        "detail": result.detail,
        "elapsedSecs": f"{result.elapsed:.2f}",
        "exitCode": "" if code is None else str(code),
        "isAlive": "true" if state["isAlive"] else "false",
    }
    what = f"{result.event} — {result.detail}"
    if result.event == "exit" and code is not None:
        what = f"process exited (code {code}). {result.detail}"
    return {"content": f"tmux pane {result.pane_id}: {what}", "meta": meta}
