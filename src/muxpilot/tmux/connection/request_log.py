"""Log lines for requests to tmux: the names of the commands and the target, never other arguments.

Other arguments may hold text that a caller typed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

from muxpilot.tmux.connection.failures import error_from_message
from muxpilot.tmux.connection.protocol import CommandReply
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.trace import Trace, describe_error


def describe_commands(commands: Sequence[Command]) -> dict[str, object]:
    """Return the fields of a log line about these commands."""
    fields: dict[str, object] = {}
    if commands:
        fields["verb"] = ";".join(str(command[0]) for command in commands)
    target = next((found for command in commands if (found := _target(command)) is not None), None)
    return fields if target is None else fields | {"target": target}


def describe_reply(reply: CommandReply) -> dict[str, object]:
    """Return the size of a reply, and the kind of its error if a command failed."""
    size = sum(len(line) + 1 for block in reply.blocks for line in block.lines)
    fields: dict[str, object] = {"bytes": size, "blocks": len(reply.blocks)}
    return fields if reply.error is None else fields | {"error": error_from_message(reply.error).code}


def log_when_answered(
    trace: Trace, commands: Sequence[Command], **fields: object
) -> Callable[[asyncio.Future[CommandReply]], None]:
    """Return a done callback that logs how long a request took, and how it ended."""
    started = time.perf_counter()
    about = describe_commands(commands)

    def log(future: asyncio.Future[CommandReply]) -> None:
        outcome = _describe_outcome(future)
        trace.debug("tmux request", **about, **fields, ms=_elapsed_ms(started), **outcome)

    return log


def log_process(trace: Trace, commands: Sequence[Command], started: float, **fields: object) -> None:
    """Log a request that had a tmux process of its own."""
    trace.debug("tmux process", **describe_commands(commands), ms=_elapsed_ms(started), **fields)


def _describe_outcome(future: asyncio.Future[CommandReply]) -> dict[str, object]:
    if future.cancelled():
        return {"error": "the caller stopped waiting"}
    error = future.exception()
    return {"error": describe_error(error)} if error is not None else describe_reply(future.result())


def _elapsed_ms(started: float) -> str:
    return f"{(time.perf_counter() - started) * 1000:.1f}"


def _target(command: Command) -> str | None:
    for flag, value in pairwise(command):
        if flag == "-t":
            return str(value)
        if flag == "--":
            return None
    return None
