"""`muxpilot run`: run a command in a pane, print its output as it comes, and exit with its exit code."""

from __future__ import annotations

import asyncio
import itertools
import shlex
import signal
import sys
import time
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from muxpilot.app import App
from muxpilot.cli.application import (
    TIMED_OUT,
    call_for_data,
    call_tool,
    check_timeout,
    run_with_app,
)
from muxpilot.cli.commands import describe, exit_code_of, log_outcome, print_until
from muxpilot.cli.output_printer import OutputPrinter
from muxpilot.cli.stderr_notes import print_note, show_progress
from muxpilot.config.model import Settings
from muxpilot.errors import MuxpilotError
from muxpilot.shells.command import Command
from muxpilot.shells.command_phases import CommandStatus
from muxpilot.tasks import TaskSet
from muxpilot.toolkit.answers import compact_json
from muxpilot.tools.commands import cancel_command, execute_command, get_command_result
from muxpilot.trace import area

_trace = area("cli")

_MOST_OUTPUT = 1 << 20
_PRESS_KEYS = "Press keys with: muxpilot send '{pane}' --keys KEYS"
_NEXT_STEPS = {
    "key": _PRESS_KEYS,
    "pager": _PRESS_KEYS,
    "editor": _PRESS_KEYS,
    "shell": "The next muxpilot run in this pane goes inside.",
    "rest": "Press keys with: muxpilot send '{pane}' --keys C-c",
}
# So long a detached command may take to be typed: a new shell has to start first.
_TYPING_S = 10.0
_CHECK_S = 0.25
# So long the call that interrupts the command may take to answer.
_INTERRUPT_S = 5.0


def run(settings: Settings, arguments: Namespace) -> int:
    """Run the command and return its exit code."""
    timeout_s = check_timeout(arguments.timeout)
    return run_with_app(settings, lambda app: _run(app, arguments, timeout_s))


def to_command_line(words: list[str]) -> str:
    """Return one word as it is, as a line of shell; several words are quoted."""
    return words[0] if len(words) == 1 else shlex.join(words)


async def _run(app: App, arguments: Namespace, timeout_s: float) -> int:
    deadline = time.monotonic() + timeout_s
    is_shown = sys.stdout.isatty() and not arguments.json
    app.services.shells.keeps_colours = is_shown and app.redactor is None  # secrets are found in plain text
    command = await _submit(app, arguments)
    if arguments.detach:
        return await _detach(app, command, as_json=arguments.json)
    left_s = max(0.0, deadline - time.monotonic())
    async with _interrupt_on_ctrl_c(app, command):
        if arguments.json:
            async with show_progress(f"{command.id} runs"):
                await app.services.shells.wait_for_result(command, left_s)
            await _print_json(app, command)
        else:
            waiting = app.services.shells.wait_for_result(command, left_s)
            printer = OutputPrinter(command.output, redactor=app.redactor)
            # On a terminal the output itself shows that something goes on, and must not be mixed with this.
            async with nullcontext() if sys.stdout.isatty() else show_progress(f"{command.id} runs"):
                await print_until(command, printer, waiting)
    return _report(app, command)


async def _submit(app: App, arguments: Namespace) -> Command:
    """Give the command to the pane's shell. Ctrl-C ends this, as it ends any program."""
    answer = await call_for_data(
        app,
        execute_command,
        paneId=arguments.pane,
        command=to_command_line(arguments.words),
        cwd=arguments.cwd,
        waitMs=0,
        maxOutputBytes=0,
    )
    return app.services.shells.get_command(answer["commandId"])


async def _detach(app: App, command: Command, *, as_json: bool) -> int:
    """Leave the command when its shell has it. Before that no process would type it."""
    deadline = time.monotonic() + _TYPING_S
    while not _is_typed(app, command) and time.monotonic() < deadline:
        await command.wait_for_change(_CHECK_S, since=command.changes)
    if as_json:
        await _print_json(app, command)
    else:
        print(command.id)
    if app.servers.journals is None:
        print_note("No other process will know this command: tracking.journal is false.")
    if not _is_typed(app, command):
        print_note(
            f"{command.id} is not typed yet. It goes on when a muxpilot runs: muxpilot wait {command.id}"
        )
    return 0


def _is_typed(app: App, command: Command) -> bool:
    """Return whether the shell has all lines of the command."""
    shells = app.services.shells
    server = shells.find_server(command)
    pane = shells.find_pane(server, command.pane) if server is not None else None
    shell = pane.find_shell(command) if pane is not None else None
    return command.status is not CommandStatus.QUEUED and not (shell and shell.line.untyped_lines)


def _report(app: App, command: Command) -> int:
    """Say on stderr what the output and the exit code do not say. Return the exit code."""
    code = exit_code_of(command)
    if code == TIMED_OUT and not command.status.is_final:
        print_note(f"{command.id} still runs. Wait for it with: muxpilot wait {command.id}")
    elif not command.status.is_final:
        next_step = _NEXT_STEPS.get(command.waiting_for or "", "Answer with: muxpilot send '{pane}' TEXT")
        print_note(f"{describe(app, command)} {next_step.format(pane=command.pane)}")
    elif command.exit_code is None or command.reason:
        print_note(describe(app, command))
    log_outcome(command, code)
    return code


async def _print_json(app: App, command: Command) -> None:
    answer: dict[str, Any] = await call_for_data(
        app, get_command_result, commandId=command.id, maxOutputBytes=_MOST_OUTPUT
    )
    answer["timedOut"] = not command.status.is_final and command.waiting_for is None
    print(compact_json(answer))


@asynccontextmanager
async def _interrupt_on_ctrl_c(app: App, command: Command) -> AsyncIterator[None]:
    """Let the first Ctrl-C interrupt the command, and the second one end this process."""
    loop, task, tasks = asyncio.get_running_loop(), asyncio.current_task(), TaskSet(_trace)
    signals = itertools.count(1)
    assert task is not None

    def on_signal() -> None:
        """Interrupt the command, or give up if that was done before."""
        if next(signals) == 1:
            tasks.start(_interrupt(app, command))
        else:
            task.cancel()

    loop.add_signal_handler(signal.SIGINT, on_signal)
    try:
        yield
        await tasks.wait(_INTERRUPT_S)
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        await tasks.close()


async def _interrupt(app: App, command: Command) -> None:
    """Interrupt the command as cancel-command does, under the same policy."""
    _trace.debug("Ctrl-C interrupts the command", pane=command.pane, command=command.id)
    try:
        await call_tool(app, cancel_command, commandId=command.id)
    except MuxpilotError as error:
        print_note(f"The command was not interrupted: {error}")
