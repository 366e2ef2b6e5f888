"""Lines for people on stderr: notes, and progress where something takes long and stderr is a terminal."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from muxpilot.terminal.escapes import CSI
from muxpilot.terminal.sanitize import sanitize_text

_FIRST_PROGRESS_S = 2.0
_PROGRESS_EVERY_S = 1.0
_CLEAR_LINE = f"\r{CSI}K"


def print_note(text: str) -> None:
    """Print one line, with our name before it. The text may quote a program, so it is sanitized."""
    line = " ".join(sanitize_text(text).split())
    print(f"muxpilot: {line}", file=sys.stderr, flush=True)


@asynccontextmanager
async def show_progress(what: str) -> AsyncIterator[None]:
    """Show what is waited for, and for how long, from the third second on. Remove it in the end."""
    if not sys.stderr.isatty():
        yield
        return
    task = asyncio.create_task(_repeat_progress(what))
    try:
        yield
    finally:
        task.cancel()
        _write(_CLEAR_LINE)


async def _repeat_progress(what: str) -> None:
    began = time.monotonic()
    await asyncio.sleep(_FIRST_PROGRESS_S)
    while True:
        _write(f"{_CLEAR_LINE}muxpilot: {what}, {time.monotonic() - began:.0f} s")
        await asyncio.sleep(_PROGRESS_EVERY_S)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
