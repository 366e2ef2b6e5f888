"""One tmux process per call: for what has no connection to go through, such as the first session."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from muxpilot.tmux.endpoint import Command, Endpoint
from muxpilot.tmux.protocol import Block, Reply


async def run(endpoint: Endpoint, commands: Sequence[Command], *, may_start_server: bool = False) -> Reply:
    """Run the commands and wait for the process; a caller that stops waiting ends it."""
    flags = () if may_start_server else ("-N",)
    process = await asyncio.create_subprocess_exec(
        *endpoint.argv(*flags, commands=commands),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=endpoint.environment(),
        start_new_session=True,
    )
    try:
        out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    printed = Block(ok=True, lines=tuple(out.removesuffix(b"\n").split(b"\n")) if out else ())
    if process.returncode == 0:
        return Reply((printed,))
    return Reply((printed, Block(ok=False, lines=tuple(err.strip().split(b"\n")))))
