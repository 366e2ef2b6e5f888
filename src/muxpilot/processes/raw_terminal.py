"""A terminal of our own in raw mode: each key arrives at once, and is not shown."""

from __future__ import annotations

import fcntl
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def raw_terminal(descriptor: int) -> Iterator[None]:
    """Set a terminal to raw mode, and restore its mode afterwards."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setraw(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def lock_terminal(descriptor: int) -> None:
    """Keep other programs from opening a terminal. An administrator's still can."""
    with suppress(OSError):
        fcntl.ioctl(descriptor, termios.TIOCEXCL)


def drop_keys(descriptor: int) -> None:
    """Forget the keys that were pressed and not read yet."""
    termios.tcflush(descriptor, termios.TCIFLUSH)
