"""One tmux process per call: for what has no connection to go through, such as the first session."""

from __future__ import annotations

from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence

from muxpilot.tmux.connection.failures import failure
from muxpilot.tmux.connection.protocol import Block, Reply
from muxpilot.tmux.hosts.child_process import end
from muxpilot.tmux.hosts.endpoint import Command, Endpoint


async def run(
    endpoint: Endpoint, commands: Sequence[Command], *, may_start_server: bool = False, data: bytes = b""
) -> Reply:
    """Run the commands and wait for the process; a caller that stops waiting ends it."""
    flags = () if may_start_server else ("-N",)
    out, err, status = await _finished(endpoint, flags, commands, data)
    printed = Block(ok=True, lines=tuple(out.removesuffix(b"\n").split(b"\n")) if out else ())
    # A server that cannot be started says why and exits with 0; one that could has printed the new ids.
    if status == 0 and not (may_start_server and err and not out):
        return Reply((printed,))
    return Reply((printed, Block(ok=False, lines=tuple(err.strip().split(b"\n")))))


async def program_version(endpoint: Endpoint) -> str:
    """What the program calls itself, such as `tmux 3.3a`; no server is asked."""
    return (await _finished(endpoint, ("-V",), ()))[0].decode("utf-8", "replace")


async def printed(endpoint: Endpoint, command: Command) -> bytes:
    """What a command writes to its standard output, byte for byte."""
    out, err, status = await _finished(endpoint, ("-N",), (command,))
    if status:
        raise failure(err.decode("utf-8", "replace"))
    return out


async def _finished(
    endpoint: Endpoint, flags: Sequence[str], commands: Sequence[Command], data: bytes = b""
) -> tuple[bytes, bytes, int | None]:
    given = endpoint.preamble(*flags, commands=commands) + data
    stdin = PIPE if given else DEVNULL
    process = await endpoint.start(*flags, commands=commands, stdin=stdin, stdout=PIPE)
    try:
        out, err = endpoint.received(*await process.communicate(given or None))
    finally:
        await end(process)
    return out, err, process.returncode
