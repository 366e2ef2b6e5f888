"""Writing to the terminal of a pane, as its own program would."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections.abc import Awaitable, Callable, Iterator

from muxpilot.errors import Refused

_PATIENCE_S = 2.0
_AT_ONCE = 8000  # characters of one line of sh


async def show_far(run: Callable[[str], Awaitable[list[str]]], tty: str, text: str) -> None:
    """The same on another host, by a process there that is ended if the terminal is stopped."""
    if not re.fullmatch(r"/dev/[\w/]+", tty, re.ASCII):
        raise Refused(f"The terminal {tty} cannot be written to.")
    for part in _parts(text):
        write = f"printf %s {shlex.quote(part)} >{tty} 2>/dev/null & w=$!"
        guard = f"{{ sleep {_PATIENCE_S:g}; kill $w; }} >/dev/null 2>&1 & k=$!"
        if await run(f"{write}; {guard}; wait $w; echo $?; kill $k 2>/dev/null") != ["0"]:
            raise Refused(
                f"The pane's terminal did not take the text within {_PATIENCE_S:g} s.",
                "It may be stopped, as after C-s: press C-q, and show the text again.",
            )


def _parts(text: str) -> Iterator[str]:
    for at in range(0, len(text), _AT_ONCE):
        yield text[at : at + _AT_ONCE]


async def write(tty: str, data: bytes) -> None:
    """All of it, or an error that says how far it came: nobody waits for a terminal that is stopped."""
    try:
        terminal = os.open(tty, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(f"The terminal {tty} cannot be written to: {error.strerror}.") from None
    written = 0
    try:
        async with asyncio.timeout(_PATIENCE_S) as patience:
            while written < len(data):
                await _writable(terminal)
                taken = _write(terminal, data[written:])
                written += taken
                if taken:  # slow, as on a busy machine, is not stopped
                    patience.reschedule(asyncio.get_running_loop().time() + _PATIENCE_S)
    except TimeoutError:
        raise Refused(
            f"The pane's terminal took {written} of {len(data)} bytes and no more for {_PATIENCE_S:g} s.",
            "It may be stopped, as after C-s: press C-q, and show the text again.",
        ) from None
    finally:
        os.close(terminal)


async def _writable(terminal: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_writer(terminal, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(terminal)


def _write(terminal: int, data: bytes) -> int:
    try:
        return os.write(terminal, data)
    except BlockingIOError:
        return 0
