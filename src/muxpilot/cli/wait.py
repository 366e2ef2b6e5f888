"""`muxpilot wait`: return when a command ends or something happens in a pane, and say what, in one line."""

from __future__ import annotations

import asyncio
import re
import time
from argparse import Namespace
from contextlib import suppress
from typing import Any

from muxpilot.app import App
from muxpilot.calls import Caller
from muxpilot.cli.application import TIMED_OUT, call_for_data, check_timeout, run_with_app
from muxpilot.cli.commands import describe, exit_code_of, find_command, log_outcome
from muxpilot.cli.stderr_notes import show_progress
from muxpilot.config.model import Settings
from muxpilot.errors import MuxpilotError
from muxpilot.records import record
from muxpilot.shells.command import Command
from muxpilot.terminal.sanitize import sanitize_text
from muxpilot.toolkit.answers import compact_json
from muxpilot.tools.commands import get_command_result, list_commands
from muxpilot.tools.watches import watch_pane

_COMMAND_ID = re.compile("cmd-[0-9a-f]{10}")
_LONGEST_CALL_S = 3600.0
_FAILED = 1


@record
class WaitOutcome:
    """What has happened: a line for people, the answer of a tool for programs, and the exit code."""

    line: str
    answer: dict[str, Any]
    code: int


def run(settings: Settings, arguments: Namespace) -> int:
    """Wait, print what happened, and return 0, 1 for a command that failed, or 124 at the timeout."""
    timeout_s = check_timeout(arguments.timeout)
    return run_with_app(settings, lambda app: _run(app, arguments, timeout_s))


def is_command_id(text: str) -> bool:
    """Return whether a text has the form of a commandId. Anything else names a pane."""
    return _COMMAND_ID.fullmatch(text) is not None


async def _run(app: App, arguments: Namespace, timeout_s: float) -> int:
    target, triggers = arguments.target, arguments.until
    async with show_progress(f"waiting for {sanitize_text(target)[:80]}"):
        if not is_command_id(target):
            outcome = await _watch(app, target, triggers, timeout_s=timeout_s)
        elif triggers is None:
            outcome = await _wait_for_command(app, await find_command(app, target), timeout_s)
        else:
            outcome = await _wait_for_either(app, target, triggers, timeout_s=timeout_s)
    print(compact_json(outcome.answer) if arguments.json else outcome.line)
    return outcome.code


async def _wait_for_command(app: App, command: Command, timeout_s: float) -> WaitOutcome:
    """Wait until the command has ended, or waits for input."""
    deadline = time.monotonic() + timeout_s
    while True:
        left_s = max(0.0, deadline - time.monotonic())
        wait_ms = round(1000 * min(left_s, _LONGEST_CALL_S))
        answer = await call_for_data(app, get_command_result, commandId=command.id, waitMs=wait_ms)
        if not answer["timedOut"] or left_s <= _LONGEST_CALL_S:
            break
    code = exit_code_of(command)
    log_outcome(command, code)
    is_failed = command.status.is_final and code != 0
    return WaitOutcome(_one_line(describe(app, command)), answer, _FAILED if is_failed else code)


async def _watch(
    app: App, pane: str, triggers: str | None, *, timeout_s: float, since: str | None = None
) -> WaitOutcome:
    """Wait for a trigger in a pane."""
    codes: list[int | None] = []

    async def on_end(result: object, exit_code: int | None) -> None:
        codes.append(exit_code)

    with suppress(MuxpilotError):  # the policy may forbid lists; watch-pane tells every other error itself
        await call_for_data(app, list_commands, paneId=pane)  # so that exit codes of commands are known
    arguments = {"paneId": pane, "triggers": triggers, "timeout": timeout_s, "since": since}
    answer = await call_for_data(app, watch_pane, Caller(on_watch_end=on_end), **arguments)
    event, code = answer["event"], next(iter(codes), None)
    line = f"{answer['paneId']}: {event} after {answer['elapsed']:.1f} s: {answer['detail']}"
    if event == "timeout":
        return WaitOutcome(_one_line(line), answer, TIMED_OUT)
    return WaitOutcome(_one_line(line), answer, _FAILED if event == "exit" and code else 0)


async def _wait_for_either(app: App, command_id: str, triggers: str, *, timeout_s: float) -> WaitOutcome:
    """Wait for a trigger in the output of a command, from its beginning on, or for the command's end."""
    command = await find_command(app, command_id)
    since = await _find_begin(app, command)
    has_ended = command.status.is_final
    watch = asyncio.create_task(
        _watch(app, command.pane, triggers, timeout_s=0.0 if has_ended else timeout_s, since=since)
    )
    end = asyncio.create_task(command.wait_for_end(timeout_s))
    try:
        await asyncio.wait((watch, end), return_when=asyncio.FIRST_COMPLETED)
        with suppress(MuxpilotError):  # the pane is gone: the command tells how it ended
            return await _find_event(watch) or await _wait_for_command(app, command, 0.0)
        return await _wait_for_command(app, command, 0.0)
    finally:
        watch.cancel()
        end.cancel()


async def _find_event(watch: asyncio.Task[WaitOutcome]) -> WaitOutcome | None:
    """Return the outcome of a watch whose trigger fires before the command's last output is looked at."""
    done, _ = await asyncio.wait((watch,), timeout=1.0)
    return watch.result() if done and watch.result().code != TIMED_OUT else None


async def _find_begin(app: App, command: Command) -> str | None:
    """Return a cursor where the command was typed, so that a watch also sees what it has printed."""
    tmux, shells = app.servers.default, app.services.shells
    with suppress(MuxpilotError):  # the pane is gone, or its program has ended
        shell = await shells.open_pane(tmux, command.pane)
        recorded = shell.shared_commands.log.history.commands.get(command.id)
        if recorded is not None and recorded.typed:
            place = recorded.typed[0].place
            return await app.services.pane_readers.make_cursor(tmux, command.pane, place.offset)
    return None


def _one_line(text: str) -> str:
    return " ".join(sanitize_text(text).split())
