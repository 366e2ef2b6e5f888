"""The marks that a shell with our integration prints around its prompts and commands. No I/O happens here.

A mark is an OSC 133 sequence, which terminals do not show:
`ESC ] 133 ; KIND ; VALUE ; SERIAL . PID ; NONCE BEL`. Only marks with one of our nonces count; all others are
output like any other text. `MarkKind` lists the kinds.

SERIAL is the number of a shell's prompt, and PID is that shell's pid as it expands it itself. `MarkOrder`
decides by them whether a mark is news. Marks that were printed before, such as those in a raw log that is
printed again, and marks of a child that has inherited the prompt's text, are stale.
"""

from __future__ import annotations

import re

from muxpilot.records import FastEnum, mutable_record, record
from muxpilot.terminal.escapes import (
    BEL_BYTES,
    ESC_BYTES,
    OSC_BYTES,
    STRING_ENDS_BYTES,
    count_torn_mark,
)

_INTRODUCER = OSC_BYTES + b"133;"


class MarkKind(FastEnum):
    """The kind of a mark; the values are the letters in the sequence."""

    LOADED = "I"  # the integration is loaded; the value is the shell's name
    PROMPT = "B"  # the prompt is complete, and the shell reads a line
    CONTINUATION = "P"  # a continuation prompt is complete
    TYPED_LENGTH = "L"  # answers our private key; the value is how much is typed at the prompt
    START = "C"  # a command starts
    OUTPUT_END = "E"  # its output has ended (zsh, before the % that it adds to an unfinished line)
    STATUS = (
        "D"  # it has ended; the value is its status. The prompt repeats it, if a hook has printed it first
    )
    VERSIONS = "S"  # answers the line that asks which shell it is


def mark_start(kind: MarkKind) -> bytes:
    """Return the bytes that every mark of this kind with a value or nonce begins with."""
    return _INTRODUCER + kind.value.encode() + b";"


_KINDS = {kind.value.encode(): kind for kind in MarkKind}
# The third field may be anything: a program that does not expand a prompt as our shell does prints it so.
_MARK = re.compile(
    re.escape(_INTRODUCER)
    + rb"([%s])" % b"".join(_KINDS)
    + rb"(?:;([^;%s]{0,120}))?(?:;(?:([0-9]{1,18})\.([0-9]{1,18})|[^;%s]{0,160}))?;([0-9a-f]{8,64})"
    % (STRING_ENDS_BYTES, STRING_ENDS_BYTES)
    + BEL_BYTES
)
_LONGEST = 370
# The serial of a continuation prompt in a shell that does not expand it. Every other prompt has a higher one.
NO_SERIAL = 0


@record
class ShellMark:
    """One mark; `end` is the offset in the stream after its last byte."""

    kind: MarkKind
    value: str
    nonce: str
    serial: int = -1  # -1 if the mark has no number
    pid: int = 0
    end: int = 0

    @property
    def number(self) -> int:
        return int(self.value) if self.value.isdigit() else 0


@mutable_record
class MarkOrder:
    """The numbers that the marks of one shell have had so far.

    A prompt has the number of the status before it. The start mark of the command that is typed there has the
    same number, and the status of that command a higher one.
    """

    pid: int
    serial: int  # of the last prompt or status
    started: int = -1  # of the last prompt whose command has started

    def find_fault(self, mark: ShellMark) -> str | None:
        """Return why a mark is stale; None for a mark that is news."""
        if mark.pid != self.pid:
            return "another process printed it"
        if mark.kind in _BEFORE_PROMPT:
            return "an older status" if mark.serial <= self.serial else None
        if mark.kind is MarkKind.CONTINUATION and mark.serial == NO_SERIAL:
            return None
        if mark.serial < self.serial:
            return "an older prompt"
        is_over = mark.kind in _AT_PROMPT and mark.serial <= self.started
        return "the command of this prompt has started" if is_over else None

    def note(self, mark: ShellMark) -> None:
        """Note the number of a mark that is news."""
        if mark.kind is MarkKind.START:
            self.started = mark.serial
        if mark.kind is not MarkKind.OUTPUT_END:
            self.serial = max(self.serial, mark.serial)

    def note_start(self) -> None:
        """Note that the command of the last prompt has started, in a shell without start marks."""
        self.started = self.serial


# The number of these is that of the prompt that follows; of those, that of the prompt before.
_BEFORE_PROMPT = (MarkKind.OUTPUT_END, MarkKind.STATUS)
_AT_PROMPT = (MarkKind.PROMPT, MarkKind.CONTINUATION, MarkKind.START)


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
            nonce = match[5].decode()
            if self._is_ours(nonce):
                if match.start() > start:
                    found.append(data[start : match.start()])
                found.append(_parse(match, nonce, end=offset + match.end()))
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


def _parse(match: re.Match[bytes], nonce: str, *, end: int) -> ShellMark:
    value = (match[2] or b"").decode("utf-8", "replace")
    serial, pid = (int(match[3]), int(match[4])) if match[4] else (-1, 0)
    return ShellMark(_KINDS[match[1]], value, nonce, serial, pid, end)


class MarkStripper(MarkScanner):
    """Removes all marks, also those of other programs: a reader who learns a nonce could forge marks."""

    def strip(self, data: bytes) -> bytes:
        return b"".join(item for item in self.feed(data) if isinstance(item, bytes))

    def _is_ours(self, nonce: str) -> bool:
        return True
