"""An application for the commands of a terminal: a few calls in this process, and then its end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from muxpilot.app import App, build
from muxpilot.calls import Caller
from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope
from muxpilot.errors import BadInput, Refused
from muxpilot.toolkit.answers import Answer
from muxpilot.toolkit.spec import Tool

LONGEST_S = 86_400.0

# Exit codes that say that the command still runs.
TIMED_OUT = 124
NEEDS_INPUT = 125

Work = Callable[[App], Awaitable[int]]


def run_with_app(settings: Settings, work: Work, *, may_start_journals: bool = True) -> int:
    """Build the application, do the work with it, and return the exit code.

    All tools can be called, also those that agents are not offered; the policy and the audit log apply.
    Without `may_start_journals` the work only looks at panes, and leaves nothing in them.
    """
    signals: list[int] = []
    app = build(replace(settings, scope=Scope.ALL, channel=False), may_start_journals=may_start_journals)
    app.services.jobs.checks_owners = False  # this process ends soon
    try:
        return asyncio.run(_work_until_signal(app, work, signals))
    except asyncio.CancelledError:
        return 128 + signals[0] if signals else 130


async def _work_until_signal(app: App, work: Work, signals: list[int]) -> int:
    """Do the work, or a part of it if a signal comes. Close the application in both cases."""
    task = asyncio.current_task()
    assert task is not None

    def stop(number: int) -> None:
        """Remember the signal for the exit code, and end the work."""
        signals.append(number)
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    try:
        return await work(app)
    finally:
        await app.close()


async def call_tool(app: App, tool: Tool, caller: Caller | None = None, /, **arguments: object) -> Answer:
    """Call a tool with the arguments that are not None. Raise Refused with the text of a failure."""
    given = {name: value for name, value in arguments.items() if value is not None}
    answer = await app.dispatch.call(tool.name, given, caller)
    if answer.is_error:
        raise Refused(answer.text)
    return answer


async def call_for_data(app: App, tool: Tool, caller: Caller | None = None, /, **arguments: object) -> Any:
    """Call a tool and return its structured answer."""
    return (await call_tool(app, tool, caller, **arguments)).structured


def check_timeout(timeout_s: float | None) -> float:
    """Return the timeout in seconds; without one, a day: nothing waits for ever."""
    if timeout_s is None:
        return LONGEST_S
    if not 0 <= timeout_s <= LONGEST_S:
        raise BadInput(f"--timeout must be from 0 to {LONGEST_S:.0f} seconds.")
    return timeout_s
