"""One tmux process per request, for requests without a connection, such as the one that starts a server."""

from __future__ import annotations

import errno
import os
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from typing import TYPE_CHECKING

from muxpilot.errors import NoTmux
from muxpilot.tmux.connection.failures import error_from_message
from muxpilot.tmux.connection.protocol import Block, CommandReply
from muxpilot.tmux.connection.request_log import log_process
from muxpilot.tmux.hosts.child_process import close_pipes, kill_group
from muxpilot.tmux.hosts.endpoint import Command, Endpoint

if TYPE_CHECKING:
    from muxpilot.tmux.hosts.far import FarEndpoint


async def run(
    endpoint: Endpoint, commands: Sequence[Command], *, may_start_server: bool = False, data: bytes = b""
) -> CommandReply:
    """Run the commands and wait for the process. If the caller is cancelled, the process is killed."""
    flags = () if may_start_server else ("-N",)
    out, err, status = await _run_process(endpoint, flags, commands, data)
    printed = Block(ok=True, lines=tuple(out.removesuffix(b"\n").split(b"\n")) if out else ())
    # A server that cannot be started prints the reason and exits with 0. One that starts prints the new ids.
    if status == 0 and not (may_start_server and not out):
        return CommandReply((printed,))
    if may_start_server:
        err = err or _silent_start_error(endpoint)
    return CommandReply((printed, Block(ok=False, lines=tuple(err.strip().split(b"\n")))))


def _silent_start_error(endpoint: Endpoint) -> bytes:
    """Return the error that newer versions print: tmux 3.2 says nothing."""
    is_missing = not endpoint.is_remote and not os.path.isdir(os.path.dirname(endpoint.socket))
    reason = os.strerror(errno.ENOENT) if is_missing else "tmux gives no reason"
    return os.fsencode(f"error creating {endpoint.socket} ({reason})")


async def read_program_version(endpoint: Endpoint) -> str:
    """Return what the program prints as its version, such as `tmux 3.3a`. No server is asked."""
    out, err, _ = await _run_process(endpoint, ("-V",), ())
    if not out and err:
        why = " ".join(err.decode("utf-8", "replace").split())
        raise NoTmux(f"The tmux program does not start: {why}.", "Run tmux -V there by hand.")
    return out.decode("utf-8", "replace")


async def read_stdout(endpoint: Endpoint, command: Command) -> bytes:
    """Return what a command prints, byte for byte, or raise the error that it printed."""
    out, err, status = await _run_process(endpoint, ("-N",), (command,))
    if status:
        raise error_from_message(err.decode("utf-8", "replace"))
    return out


async def run_far_script(endpoint: FarEndpoint, script: str) -> bytes:
    """Run a script of sh on another host, without tmux, and return what it prints, byte for byte."""
    return (await _run_process(endpoint, (), (), script=endpoint.script_preamble(script)))[0]


async def _run_process(
    endpoint: Endpoint,
    flags: Sequence[str],
    commands: Sequence[Command],
    data: bytes = b"",
    *,
    script: bytes = b"",
) -> tuple[bytes, bytes, int | None]:
    started = time.perf_counter()
    given = script or endpoint.stdin_preamble(*flags, commands=commands) + data
    stdin = PIPE if given else DEVNULL
    process = await endpoint.start_process(*flags, commands=commands, stdin=stdin, stdout=PIPE)
    try:
        out, err = endpoint.strip_banner(*await process.communicate(given or None))
    finally:
        await kill_group(process)
        close_pipes(process)
        trace = endpoint.trace
        log_process(trace, commands, started, flags=" ".join(flags), status=process.returncode)
    return out, err, process.returncode
