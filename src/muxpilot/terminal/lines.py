"""Terminal bytes as the lines that were printed, in their order, whatever became of them on the screen.

For matching, not for showing: an overwritten progress line and a cleared screen were printed all the same.
A carriage return ends a line as a newline does, and so does moving the cursor somewhere else.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST_LINE = 1 << 16
_LONGEST_STRING = 1 << 20

_STRING = re.compile(rb"\x1b[\]PX^_k]")
_STRING_END = re.compile(rb"\x07|\x1b\\|[\x18\x1a]")
_TORN = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[ -/]*)\Z")
_LONGEST_SEQUENCE = 256

# What moves the cursor to another place ends a line; to the right, it is a blank.
_ELSEWHERE = re.compile(
    rb"\x1b\[[0-9;]*[ABEFHJLMSTdfru]|\x1b\[1?G|\x1b[78DEMc]|\x1b\[\?(?:1049|1047|47)[hl]|\r+(?=[^\r\n])|[\x0b\x0c]"
)
_RIGHT = re.compile(rb"\x1b\[[0-9]*[CG]")
_COMMON = re.compile(rb"\x1b\[[0-9;]*[mK]")  # colours: nearly all that there are, so these go first
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[ -/]*[0-~])")
_OVERTYPED = re.compile(rb"[^\n\x08]\x08")
_CONTROLS = bytes([*range(0x09), *range(0x0B, 0x20), 0x7F])

# Sequences that change nothing on the screen: colours, modes, questions.
_STILL = re.compile(rb"\x1b\[[0-?]*[ -/]*[mnctqhl]|\x1b[ -/]+[0-~]|\x1b[=>]|[\x00-\x07\x0e\x0f\x7f]")
_SCREENS = re.compile(rb"\x1b\[\?(?:1049|1047|47)[hl]")
_LOOKED_AT = 4096


class Batch(NamedTuple):
    """New whole lines, with a newline between them; how often it rang; whether anything was drawn."""

    block: bytes
    lines: int
    bells: int
    is_change: bool


class Printed:
    """Takes chunks as they come; memory is bounded by one line."""

    def __init__(self, *, needs_text: bool = True) -> None:
        """Where nobody needs the text, lines are only counted."""
        self._needs_text = needs_text
        self._held = b""
        self._line = b""
        self._string_bytes: int | None = None  # inside a string, such as a title, as long as this so far

    def feed(self, data: bytes) -> Batch:
        data = self._without_strings(self._held + data)
        bells = data.count(b"\x07")
        is_change = len(data) > _LOOKED_AT or bool(_SCREENS.search(data) or _STILL.sub(b"", data))
        if not self._needs_text:
            return Batch(b"", data.count(b"\n"), bells, is_change)
        whole, self._line = _cut(self._line + data)
        block = plain(whole).removesuffix(b"\n") if whole else b""
        return Batch(block, block.count(b"\n") + 1 if whole else 0, bells, is_change)

    @property
    def rest(self) -> bytes:
        """The line that has no end yet."""
        return plain(self._line)

    def cut(self) -> bytes:
        """That line, which ends here."""
        rest, self._line = self.rest, b""
        return rest

    def _without_strings(self, data: bytes) -> bytes:
        """Titles, images and the like are no text. A sequence that is torn waits for its end."""
        self._held = b""
        if self._string_bytes is None and b"\x1b" not in data:
            return data
        pieces: list[bytes] = []
        at = 0
        while True:
            if self._string_bytes is not None:
                at = self._skipped(data, at)
                if self._string_bytes is not None:
                    return b"".join(pieces)
            begun = _STRING.search(data, at)
            if begun is None:
                pieces.append(self._hold(data[at:]))
                return b"".join(pieces)
            pieces.append(data[at : begun.start()])
            at, self._string_bytes = begun.end(), 0

    def _skipped(self, data: bytes, at: int) -> int:
        ended = _STRING_END.search(data, at)
        if ended is not None:
            self._string_bytes = None
            return ended.end()
        self._held = b"\x1b" if data.endswith(b"\x1b") else b""
        length = (self._string_bytes or 0) + len(data) - at
        # tmux too gives up a string that does not end.
        self._string_bytes = length if length < _LONGEST_STRING else None
        return len(data)

    def _hold(self, data: bytes) -> bytes:
        torn = _TORN.search(data, max(0, len(data) - _LONGEST_SEQUENCE))
        if torn is None:
            return data
        self._held = data[torn.start() :]
        return data[: torn.start()]


def plain(data: bytes) -> bytes:
    """Text only, with a newline wherever a line ended; no strings and no torn sequences come here."""
    data = data.replace(b"\r\n", b"\n")
    if b"\x1b" in data:
        data = _COMMON.sub(b"", data)
    if b"\x1b" in data:
        data = _SEQUENCE.sub(b"", _RIGHT.sub(b" ", _ELSEWHERE.sub(b"\n", data)))
    elif b"\r" in data or b"\x0b" in data or b"\x0c" in data:
        data = _ELSEWHERE.sub(b"\n", data)
    if b"\x08" in data:
        data = _OVERTYPED.sub(b"", data)
    return data.translate(None, _CONTROLS)


def _cut(data: bytes) -> tuple[bytes, bytes]:
    """What has ended, and the line that has not; a line too long to wait for is cut."""
    end = data.rfind(b"\n") + 1
    returned = data.rfind(b"\r", 0, max(len(data) - 1, 0)) + 1
    end = max(end, returned)
    if len(data) - end > LONGEST_LINE:
        end = len(data)
    return data[:end], data[end:]
