"""Watches on a script that runs what is typed to it."""

from __future__ import annotations

from typing import Any

from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Shell
from tests.rigs.waiting import eventually

# A shell script that runs each line that is typed to it, without an echo.
RUNS_LINES = 'while read -r line; do eval "$line"; done'


async def start_line_runner(rig: Rig, pane: Shell) -> str:
    made = await pane(f"stty -echo; printf 'error: old\\n'; {RUNS_LINES}")
    await rig.wait_until_shown(made.pane, "error: old")
    return made.pane


async def wait_for_report(call: Call, watch: str) -> dict[str, Any]:
    """Wait until a watch has ended, and return its report."""

    async def look() -> dict[str, Any]:
        report = await call("get-watch", watchId=watch)
        return report if report["status"] != "watching" else {}

    report = await eventually(look)
    assert isinstance(report, dict)
    return report


async def watch_and_type(call: Call, pane: str, triggers: str | list[str], keys: str = "") -> dict[str, Any]:
    """Start a watch, type these keys, and return the report of the watch."""
    watch = (await call("notify-when", paneId=pane, triggers=triggers, timeout=60))["watchId"]
    if keys:
        await call("send-keys", paneId=pane, keys=keys, enter=True)
    try:
        return await wait_for_report(call, watch)
    except AssertionError as error:  # seen once in 100 loaded runs: the pane shows why
        error.add_note(f"state: {await call('pane-state', paneId=pane)}")
        error.add_note(f"output: {(await call('read-pane', paneId=pane))['text']!r}")
        raise
