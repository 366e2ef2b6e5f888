"""Where the echo of a typed line ends, in shells that do not tell where a command's output begins."""

from __future__ import annotations

import re

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
