"""The marks that an integrated shell prints around its prompts and commands, without I/O.

A mark is an OSC 133 sequence that terminals do not show: `ESC ] 133 ; KIND [; VALUE] ; NONCE BEL`. Only
those with a nonce of ours count; all others are output like any other text.

    I  the integration is loaded (which shell, and its pid)    C  a command starts
    B  the prompt is ready for input                           E  its output has ended (zsh, before a `%`)
    P  a continuation prompt is                                D  it has finished, with its status
    L  how much is typed at the prompt                         Q  the same status, in the prompt itself
    S  which shell answers to a line that asks for it
"""

from __future__ import annotations

import re

from muxpilot.records import record

_INTRODUCER = b"\x1b]133;"
_MARK = re.compile(rb"\x1b\]133;([IBPCEDLQS])(?:;([^;\x07\x1b]{0,120}))?;([0-9a-f]{8,64})\x07")
_LONGEST = 220


@record
class Mark:
    kind: str
    value: str
    nonce: str
    end: int = 0  # how many bytes of the stream there were up to its last

    @property
    def number(self) -> int:
        return int(self.value) if self.value.isdigit() else 0


class Scanner:
    """Bytes in, text and marks out: the same wherever the bytes are split."""

    def __init__(self) -> None:
        self.nonces: set[str] = set()
        self._held = b""

    def feed(self, data: bytes, offset: int = 0) -> list[bytes | Mark]:
        """`offset` is where in the stream these bytes begin."""
        offset -= len(self._held)
        data = self._held + data
        self._held = b""
        if b"\x1b" not in data:
            return [data] if data else []
        found: list[bytes | Mark] = []
        start = 0
        for match in _MARK.finditer(data):
            nonce = match[3].decode()
            if self._counts(nonce):
                if match.start() > start:
                    found.append(data[start : match.start()])
                value = (match[2] or b"").decode("utf-8", "replace")
                found.append(Mark(match[1].decode(), value, nonce, offset + match.end()))
                start = match.end()
        keep = _unfinished(data, start)
        self._held = data[len(data) - keep :] if keep else b""
        if start < len(data) - keep:
            found.append(data[start : len(data) - keep])
        return found

    def rest(self) -> bytes:
        """What was held back, when nothing will follow."""
        held, self._held = self._held, b""
        return held

    def _counts(self, nonce: str) -> bool:
        return nonce in self.nonces


class Stripper(Scanner):
    """Bytes in, the same without marks out, whosever they are: who reads a nonce could forge marks."""

    def strip(self, data: bytes) -> bytes:
        return b"".join(item for item in self.feed(data) if isinstance(item, bytes))

    def _counts(self, nonce: str) -> bool:
        return True


def _unfinished(data: bytes, start: int) -> int:
    """How many of the last bytes may be the beginning of a mark."""
    at = data.rfind(b"\x1b", max(start, len(data) - _LONGEST))
    if at < 0:
        return 0
    tail = data[at:]
    begins = _INTRODUCER.startswith(tail) or (tail.startswith(_INTRODUCER) and b"\x07" not in tail)
    return len(tail) if begins else 0
