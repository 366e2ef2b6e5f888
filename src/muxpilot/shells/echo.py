"""The echo of a typed line: where it ends, and whether a text can be the echo of a line."""

from __future__ import annotations

import re

from muxpilot.terminal.escapes import LINE_EDITOR_SEQUENCE

_LONGEST_COMPARED = 200
_NOT_COMPARED = re.compile(LINE_EDITOR_SEQUENCE.encode() + rb"|[^\x21-\x7e]")
_INVISIBLE = re.compile(LINE_EDITOR_SEQUENCE.encode() + rb"|[\x00-\x20\x7f]")


def find_echo_end(data: bytes, line: str) -> int:
    """Return the offset after the line end that follows the echo, or -1 if it has not come yet.

    For shells that do not mark the start of a command's output. Their editor may break a long line with
    line ends of its own; only a part of the line comes before those.
    """
    typed = _INVISIBLE.sub(b"", line.encode("utf-8", "surrogateescape"))
    at = data.find(b"\n")
    while at >= 0:
        echo = _INVISIBLE.sub(b"", data[:at])
        if not (echo and len(echo) < len(typed) and typed.startswith(echo)):
            return at + 1
        at = data.find(b"\n", at + 1)
    return -1


def may_be_echo_of(echo: bytes, line: str, *, is_decorated: bool) -> bool:
    """Return whether the bytes that a shell printed before a command started can be the echo of `line`.

    `is_decorated`: an editor draws the line with colours and suggestions, so other bytes come between its
    characters.
    """
    # Bytes after the line end of another line were typed too late to be the line that has started.
    shown = _NOT_COMPARED.sub(b"", echo if "\n" in line else echo.partition(b"\n")[0])
    typed = _NOT_COMPARED.sub(b"", line[:_LONGEST_COMPARED].encode("utf-8", "surrogateescape"))
    if typed in shown or typed.startswith(shown):
        return True
    left = iter(shown)
    return is_decorated and all(byte in left for byte in typed)


def shows_text(data: bytes) -> bool:
    """Return whether a line editor has printed any character, even if it has removed it again."""
    return bool(_INVISIBLE.sub(b"", data))
