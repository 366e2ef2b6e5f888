"""Write to the terminal of a pane, as the program in it would."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections.abc import Awaitable, Callable, Iterator

from muxpilot.errors import Refused
from muxpilot.trace import area

_trace = area("tmux")
_STALL_S = 2.0
_CHARS_PER_LINE = 8000  # of text in one line of sh


async def write_remote(run: Callable[[str], Awaitable[list[str]]], tty: str, text: str) -> None:
    """Write text to a terminal on another host. A process there writes, and is killed if it stalls."""
    if not re.fullmatch(r"/dev/[\w/]+", tty, re.ASCII):
        raise Refused(f"The terminal {tty} cannot be written to.")
    for part in _split(text):
        write = f"printf %s {shlex.quote(part)} >{tty} 2>/dev/null & w=$!"
        watchdog = f"{{ sleep {_STALL_S:g}; kill $w; }} >/dev/null 2>&1 & k=$!"
        if await run(f"{write}; {watchdog}; wait $w; echo $?; kill $k 2>/dev/null") != ["0"]:
            raise Refused(
                f"The pane's terminal did not take the text within {_STALL_S:g} s.",
                "It may be stopped, as after C-s: press C-q, and show the text again.",
            )


def _split(text: str) -> Iterator[str]:
    for at in range(0, len(text), _CHARS_PER_LINE):
        yield text[at : at + _CHARS_PER_LINE]


async def write_local(tty: str, data: bytes) -> None:
    """Write all bytes to a terminal of this host. Raise Refused if it takes none for a while."""
    try:
        terminal = os.open(tty, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(f"The terminal {tty} cannot be written to: {error.strerror}.") from None
    written = 0
    try:
        async with asyncio.timeout(_STALL_S) as stall_timeout:
            while written < len(data):
                await _wait_until_writable(terminal)
                taken = _write_without_blocking(terminal, data[written:])
                written += taken
                if taken:  # a slow terminal, as on a busy machine, is not a stopped one
                    stall_timeout.reschedule(asyncio.get_running_loop().time() + _STALL_S)
    except TimeoutError:
        _trace.debug("terminal stalled", tty=tty, written=written, bytes=len(data))
        raise Refused(
            f"The pane's terminal took {written} of {len(data)} bytes and no more for {_STALL_S:g} s.",
            "It may be stopped, as after C-s: press C-q, and show the text again.",
        ) from None
    finally:
        os.close(terminal)
    _trace.debug("terminal written", tty=tty, bytes=written)


async def _wait_until_writable(terminal: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_writer(terminal, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(terminal)


def _write_without_blocking(terminal: int, data: bytes) -> int:
    try:
        return os.write(terminal, data)
    except BlockingIOError:
        return 0
