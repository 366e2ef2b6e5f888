"""Mouse events as the bytes that a terminal sends to a program, in the encoding that the program asked for.

    encoding   an event                                          switched on by
    SGR        ESC [ < button ; column ; row M (press) m (release)   1006
    UTF-8      ESC [ M button column row, each a character            1005
    default    ESC [ M button column row, each a byte                 none: columns and rows up to 222

Columns and rows count from 1 there, and from 0 here. The older encodings add 32 to each number, and their
release does not say which button it was.
"""

from __future__ import annotations

from enum import Enum

from muxpilot.records import record
from muxpilot.terminal.escapes import CSI

BUTTONS = {"left": 0, "middle": 1, "right": 2, "wheel-up": 64, "wheel-down": 65}
_MOTION, _ANY_RELEASE, _OFFSET = 32, 3, 32


class MouseEncoding(Enum):
    """How a program wants mouse events; the value is the largest row and column, counted from 0."""

    SGR = 1 << 15
    UTF8 = 2014
    DEFAULT = 222


@record
class MouseEvent:
    """One event at a place; `kind` is press, release or motion."""

    kind: str
    button: str
    row: int
    column: int


def encode_mouse(event: MouseEvent, encoding: MouseEncoding) -> bytes:
    """Return the bytes of an event. The place must be within the limit of the encoding."""
    button = BUTTONS[event.button] + (_MOTION if event.kind == "motion" else 0)
    if encoding is MouseEncoding.SGR:
        final = "m" if event.kind == "release" else "M"
        return f"{CSI}<{button};{event.column + 1};{event.row + 1}{final}".encode()
    if event.kind == "release":
        button = _ANY_RELEASE
    numbers = (button + _OFFSET, event.column + 1 + _OFFSET, event.row + 1 + _OFFSET)
    codec = "utf-8" if encoding is MouseEncoding.UTF8 else "latin-1"
    return f"{CSI}M".encode() + "".join(map(chr, numbers)).encode(codec)


def is_wheel(button: str) -> bool:
    """Return whether a button is a direction of the wheel, which is never released."""
    return button.startswith("wheel")
