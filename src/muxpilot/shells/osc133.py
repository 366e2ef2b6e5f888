"""The marks that a shell with our integration prints around its prompts and commands. No I/O happens here.

A mark is an OSC 133 sequence, which terminals do not show: `ESC ] 133 ; KIND [; VALUE] ; NONCE BEL`. Only
marks with one of our nonces count; all others are output like any other text. `MarkKind` lists the kinds.
"""

from __future__ import annotations

import re
from enum import Enum

from muxpilot.records import record
from muxpilot.terminal.escapes import (
    BEL_BYTES,
    ESC_BYTES,
    OSC_BYTES,
    STRING_ENDS_BYTES,
    count_torn_mark,
)

_INTRODUCER = OSC_BYTES + b"133;"


class MarkKind(Enum):
    """The kind of a mark; the values are the letters in the sequence."""

    LOADED = "I"  # the integration is loaded; the value is the shell's name, a dot and its pid
    PROMPT = "B"  # the prompt is complete, and the shell reads a line
    CONTINUATION = "P"  # a continuation prompt is complete
    TYPED_LENGTH = "L"  # answers our private key; the value is how much is typed at the prompt
    START = "C"  # a command starts
    OUTPUT_END = "E"  # its output has ended (zsh, before the % that it adds to an unfinished line)
    STATUS = "D"  # it has ended; the value is its status
    STATUS_IN_PROMPT = "Q"  # the same, in the prompt itself, for a shell whose hook was replaced
    VERSIONS = "S"  # answers the line that asks which shell it is

    @property
    def is_prompt(self) -> bool:
        """Return whether a mark of this kind is a part of the prompt's text, which a child may inherit."""
        return self in (MarkKind.PROMPT, MarkKind.CONTINUATION, MarkKind.STATUS_IN_PROMPT)

    @property
    def has_status(self) -> bool:
        return self in (MarkKind.STATUS, MarkKind.STATUS_IN_PROMPT)


def mark_start(kind: MarkKind) -> bytes:
    """Return the bytes that every mark of this kind with a value or nonce begins with."""
    return _INTRODUCER + kind.value.encode() + b";"


_KINDS = {kind.value.encode(): kind for kind in MarkKind}
_MARK = re.compile(
    re.escape(_INTRODUCER)
    + rb"([%s])(?:;([^;%s]{0,120}))?;([0-9a-f]{8,64})" % (b"".join(_KINDS), STRING_ENDS_BYTES)
    + BEL_BYTES
)
_LONGEST = 220


@record
class ShellMark:
    """One mark; `end` is the offset in the stream after its last byte."""

    kind: MarkKind
    value: str
    nonce: str
    end: int = 0

    @property
    def number(self) -> int:
        return int(self.value) if self.value.isdigit() else 0


class MarkScanner:
    """Separates text and marks, the same wherever the bytes are split."""

    def __init__(self) -> None:
        self.nonces: set[str] = set()
        self._held = b""

    def feed(self, data: bytes, offset: int = 0) -> list[bytes | ShellMark]:
        """Return the text and the marks in these bytes; `offset` is where in the stream they begin."""
        offset -= len(self._held)
        data = self._held + data
        self._held = b""
        if ESC_BYTES not in data:
            return [data] if data else []
        found: list[bytes | ShellMark] = []
        start = 0
        for match in _MARK.finditer(data):
            nonce = match[3].decode()
            if self._is_ours(nonce):
                if match.start() > start:
                    found.append(data[start : match.start()])
                value = (match[2] or b"").decode("utf-8", "replace")
                found.append(ShellMark(_KINDS[match[1]], value, nonce, offset + match.end()))
                start = match.end()
        keep = count_torn_mark(data, _INTRODUCER, longest=_LONGEST, start=start)
        self._held = data[len(data) - keep :] if keep else b""
        if start < len(data) - keep:
            found.append(data[start : len(data) - keep])
        return found

    def flush(self) -> bytes:
        """Return the bytes that were held back, when no more follow."""
        held, self._held = self._held, b""
        return held

    def _is_ours(self, nonce: str) -> bool:
        return nonce in self.nonces


class MarkStripper(MarkScanner):
    """Removes all marks, also those of other programs: a reader who learns a nonce could forge marks."""

    def strip(self, data: bytes) -> bytes:
        return b"".join(item for item in self.feed(data) if isinstance(item, bytes))

    def _is_ours(self, nonce: str) -> bool:
        return True
