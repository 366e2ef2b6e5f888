"""One tmux process per call: for what has no connection to go through, such as the first session."""

from __future__ import annotations

from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence

from muxpilot.tmux.endpoint import Command, Endpoint
from muxpilot.tmux.protocol import Block, Reply


async def run(endpoint: Endpoint, commands: Sequence[Command], *, may_start_server: bool = False) -> Reply:
    """Run the commands and wait for the process; a caller that stops waiting ends it."""
    flags = () if may_start_server else ("-N",)
    out, err, status = await _finished(endpoint, flags, commands)
    printed = Block(ok=True, lines=tuple(out.removesuffix(b"\n").split(b"\n")) if out else ())
    # A server that cannot be started says why and exits with 0; one that could has printed the new ids.
    if status == 0 and not (may_start_server and err and not out):
        return Reply((printed,))
    return Reply((printed, Block(ok=False, lines=tuple(err.strip().split(b"\n")))))


async def program_version(endpoint: Endpoint) -> str:
    """What the program calls itself, such as `tmux 3.3a`; no server is asked."""
    return (await _finished(endpoint, ("-V",), ()))[0].decode("utf-8", "replace")


async def _finished(
    endpoint: Endpoint, flags: Sequence[str], commands: Sequence[Command]
) -> tuple[bytes, bytes, int | None]:
    process = await endpoint.start(*flags, commands=commands, stdin=DEVNULL, stdout=PIPE)
    try:
        out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return out, err, process.returncode
