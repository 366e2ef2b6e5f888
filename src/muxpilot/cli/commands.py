"""Follow a command for the terminal: print its output, and say how it stands in an exit code and a line."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from muxpilot.app import App
from muxpilot.cli.application import NEEDS_INPUT, TIMED_OUT, call_for_data
from muxpilot.cli.output_printer import OutputPrinter
from muxpilot.cli.stderr_notes import print_note
from muxpilot.shells.command import Command
from muxpilot.tools.commands import get_command_result
from muxpilot.trace import area

_trace = area("cli")

# Exit codes of commands that have none of their own.
_CODES = {"completed": 0, "stopped": 148, "cancelled": 130}
_LOST = 1
# Between two looks at the output of a command that prints all the time.
_PAUSE_S = 0.02
_LONG_S = 3600.0


async def find_command(app: App, command_id: str) -> Command:
    """Return a command, of whichever muxpilot, if the policy lets us see it."""
    await call_for_data(app, get_command_result, commandId=command_id, maxOutputBytes=0)
    return app.services.shells.get_command(command_id)


async def print_until(command: Command, printer: OutputPrinter, waiting: Coroutine[Any, Any, bool]) -> bool:
    """Print the output of a command until `waiting` returns, and return what that does."""
    task = asyncio.create_task(waiting)
    task.add_done_callback(lambda _: command.notify_change())
    try:
        while not task.done():
            changes = command.changes
            printer.print_new()
            await asyncio.sleep(_PAUSE_S)
            await command.wait_for_change(_LONG_S, since=changes)
        return await task
    finally:
        task.cancel()
        printer.print_new(is_last=True)
        if printer.skipped_bytes:
            print_note(f"{printer.skipped_bytes} bytes of the output were not kept, and are not printed.")
        if command.output.lost_bytes:
            print_note(command.output.describe_loss())


def exit_code_of(command: Command) -> int:
    """Return the exit code that stands for a command: its own, or one for a command that still runs."""
    if not command.status.is_final:
        return {None: TIMED_OUT, "shell": 0}.get(command.waiting_for, NEEDS_INPUT)
    return _CODES.get(command.status.value, _LOST) if command.exit_code is None else command.exit_code


def describe(app: App, command: Command) -> str:
    """Say in one line how a command stands."""
    seconds = f"after {command.elapsed_s:.1f} s"
    words = command.reason or ""
    if app.redactor is not None:
        words = app.redactor.redact(words)
    reason = f": {words}" if words else "."
    if command.waiting_for is not None:
        return f"{command.id} in pane {command.pane} waits for input{reason}"
    if command.exit_code is not None:
        return f"{command.id} {command.status.value} with exit code {command.exit_code} {seconds}{reason}"
    return f"{command.id} {command.status.value} {seconds}{reason}"


def log_outcome(command: Command, code: int) -> None:
    """Log how the command stands when this process ends."""
    _trace.debug(
        "command followed",
        pane=command.pane,
        command=command.id,
        status=command.status.value,
        waiting_for=command.waiting_for,
        code=code,
    )
