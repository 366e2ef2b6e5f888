"""Servers in sandboxes and containers, reached through their two pipes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.rigs.waiting import eventually
from tests.rigs.wire import LIMIT_S, Wire


@asynccontextmanager
async def serve_in_box(
    argv: Sequence[str], folder: Path, env: Mapping[str, str], *, patience_s: float = LIMIT_S
) -> AsyncIterator[Wire]:
    """Start a program that becomes a server. Setting up the box may take a while."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=folder, limit=1 << 24
    )
    wire = Wire(process)
    try:
        await wire.ask("ping", limit_s=patience_s)
        await wire.shake_hands()
        yield wire
    finally:
        await wire.close()


async def run_in_debug_pane(wire: Wire, command: str) -> str:
    """Run a command in a pane of scope `debug` and return its output."""
    answer = await wire.call("tmux_create_pane", command=f"{command}; echo E''ND")
    pane = answer.partition("(id: ")[2].partition(")")[0]

    async def finished_output() -> str:
        text = str(await wire.call("tmux_capture_pane", pane_id=pane, lines=1000))
        return text if "END" in text else ""

    return str(await eventually(finished_output)).removesuffix("END").strip()
