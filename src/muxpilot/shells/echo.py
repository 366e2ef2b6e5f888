"""Where the echo of a typed line ends, in shells that do not tell where a command's output begins."""

from __future__ import annotations

import re

_COMPARED = 200
_UNCOMPARED = re.compile(rb"\x1b\[[0-9;?]*[@-~]|\x1b[^\[]|[^\x21-\x7e]")
_UNSEEN = re.compile(rb"\x1b\[[0-9;?]*[@-~]|\x1b[^\[]|[\x00-\x20\x7f]")


def echo_end(data: bytes, line: str) -> int:
    """The offset behind the line end that follows the echo, or -1 if it has not come yet.

    An editor may break a long line by line ends of its own: those have only a part of it before them.
    """
    typed = _UNSEEN.sub(b"", line.encode("utf-8", "surrogateescape"))
    at = data.find(b"\n")
    while at >= 0:
        seen = _UNSEEN.sub(b"", data[:at])
        if not (seen and len(seen) < len(typed) and typed.startswith(seen)):
            return at + 1
        at = data.find(b"\n", at + 1)
    return -1


def may_show(echo: bytes, line: str, *, is_drawn: bool) -> bool:
    """Whether what a shell printed before a command began can be the echo of this line.

    `is_drawn`: an editor draws it with colours and proposals, so that its characters stand apart.
    """
    # What stands behind the line end of another line was typed too late to be what has begun.
    seen = _UNCOMPARED.sub(b"", echo if "\n" in line else echo.partition(b"\n")[0])
    typed = _UNCOMPARED.sub(b"", line[:_COMPARED].encode("utf-8", "surrogateescape"))
    if typed in seen or typed.startswith(seen):
        return True
    left = iter(seen)
    return is_drawn and all(byte in left for byte in typed)
