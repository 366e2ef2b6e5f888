"""The mode of a terminal, read from outside the programs that use it.

Here it is read with termios, on another host with `stty`.
"""

from __future__ import annotations

import os
import re
import termios
from collections.abc import Awaitable, Callable, Sequence

from muxpilot.records import record

# Runs a line of sh on another host and returns what it prints, line by line.
RunRemote = Callable[[str], Awaitable[Sequence[str]]]

STTY_LINE = "stty -a <{tty} 2>/dev/null"
_STTY_INTERRUPT = re.compile(r"\bintr = \^C;")


@record
class TerminalMode:
    """The settings of a terminal that decide what a program reads, and what the keys do.

    `is_canonical`: the kernel collects whole lines. `maps_return`: Enter arrives as a newline.
    `has_signals`: the interrupt key sends SIGINT. A key is b"" where it is off, or not known.
    """

    is_canonical: bool
    has_echo: bool
    maps_return: bool
    has_signals: bool = False
    interrupt_key: bytes = b""
    erase_key: bytes = b""
    kill_key: bytes = b""

    @property
    def hides_typing(self) -> bool:
        """Return whether a program reads a line that is not echoed, such as a password."""
        return self.is_canonical and not self.has_echo


def is_terminal_path(tty: str) -> bool:
    """Return whether a path can be put into a line of sh: it may come from another host."""
    return re.fullmatch(r"/dev/[\w/]+", tty, re.ASCII) is not None


def read_terminal_mode(tty: str) -> TerminalMode | None:
    """Return the mode of a terminal, or None if it is gone or belongs to another user."""
    try:
        # NOCTTY: it must not become our controlling terminal. NONBLOCK: opening a serial line without
        # carrier would block.
        descriptor = os.open(tty, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        input_flags, _, _, local_flags, _, _, keys = termios.tcgetattr(descriptor)
    except (OSError, termios.error):
        return None
    finally:
        os.close(descriptor)
    return TerminalMode(
        is_canonical=bool(local_flags & termios.ICANON),
        has_echo=bool(local_flags & termios.ECHO),
        maps_return=bool(input_flags & termios.ICRNL),
        has_signals=bool(local_flags & termios.ISIG),
        interrupt_key=_key(keys[termios.VINTR]),
        erase_key=_key(keys[termios.VERASE]),
        kill_key=_key(keys[termios.VKILL]),
    )


def _key(code: bytes | int) -> bytes:
    return code if isinstance(code, bytes) else b""


async def read_remote_terminal_mode(run: RunRemote, tty: str) -> TerminalMode | None:
    """Return the mode of a terminal on another host, or None if `stty` does not print it."""
    if not is_terminal_path(tty):
        return None
    return parse_stty(" ".join(await run(STTY_LINE.format(tty=tty))))


def parse_stty(text: str) -> TerminalMode | None:
    """Return the mode that `stty -a` prints, as far as all its versions print it the same way."""
    flags = set(re.findall(r"-?[a-z]+", text))
    if not flags & {"icanon", "-icanon"}:
        return None
    return TerminalMode(
        is_canonical="icanon" in flags,
        has_echo="echo" in flags,
        maps_return="icrnl" in flags,
        has_signals="isig" in flags,
        interrupt_key=b"\x03" if _STTY_INTERRUPT.search(text) else b"",
    )
