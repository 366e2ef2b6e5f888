"""The mode of a terminal, read from outside the programs that use it."""

from __future__ import annotations

import os
import termios

from muxpilot.records import record


@record
class Mode:
    """`is_canonical`: the kernel gathers lines; `maps_return`: Enter arrives as a newline."""

    is_canonical: bool
    has_echo: bool
    maps_return: bool


def mode_of(tty: str) -> Mode | None:
    """None where it cannot be asked for: the terminal has gone, or is another user's."""
    try:
        # NOCTTY: it must not become ours. NONBLOCK: a line without carrier would let us wait.
        handle = os.open(tty, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        flags = termios.tcgetattr(handle)
    except termios.error:
        return None
    finally:
        os.close(handle)
    return Mode(
        is_canonical=bool(flags[3] & termios.ICANON),
        has_echo=bool(flags[3] & termios.ECHO),
        maps_return=bool(flags[0] & termios.ICRNL),
    )
