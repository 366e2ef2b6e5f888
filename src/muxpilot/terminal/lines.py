"""Split terminal bytes into lines in the order of printing, whatever happens to them on the screen later.

This is for matching, not for showing: an overwritten progress line and a cleared screen were printed, too.
A carriage return ends a line as a newline does, and so does a cursor movement to another place. Line drawing
is the characters that a person sees.
"""

from __future__ import annotations

from typing import NamedTuple

from muxpilot.lazy_pattern import lazy_pattern
from muxpilot.terminal.escapes import (
    ALTERNATE_SEQUENCE,
    ANY_SEQUENCE,
    COLOUR_OR_ERASE,
    CUT_SEQUENCE,
    ESC_BYTES,
    INVISIBLE,
    MOVE_AWAY,
    MOVE_RIGHT,
    STRING_END,
    STRING_START,
    TORN_SEQUENCE,
)
from muxpilot.terminal.line_drawing import DrawnLetters

LONGEST_LINE = 1 << 16
_LONGEST_STRING = 1 << 20

_STRING_START = lazy_pattern(STRING_START.encode())
_STRING_END = lazy_pattern(STRING_END.encode())
_TORN = lazy_pattern(TORN_SEQUENCE.encode())
_CUT = lazy_pattern(CUT_SEQUENCE.encode())
_LONGEST_SEQUENCE = 256

# A cursor movement to another place ends a line; one to the right counts as a blank.
_LINE_ENDING = lazy_pattern(rf"{MOVE_AWAY}|{ALTERNATE_SEQUENCE}|\r+(?=[^\r\n])|[\x0b\x0c]".encode())
_MOVE_RIGHT = lazy_pattern(MOVE_RIGHT.encode())
# Nearly all sequences are colours, so these are removed first.
_COMMON = lazy_pattern(COLOUR_OR_ERASE.encode())
_SEQUENCE = lazy_pattern(ANY_SEQUENCE.encode())
_OVERTYPED = lazy_pattern(rb"[^\n\x08]\x08")
_CONTROLS = bytes([*range(0x09), *range(0x0B, 0x20), 0x7F])

# Sequences that change nothing on the screen: colours, modes, requests for reports.
_INVISIBLE = lazy_pattern(INVISIBLE.encode())
_ALTERNATE = lazy_pattern(ALTERNATE_SEQUENCE.encode())
# Longer data always counts as a change: searching it would cost more than its result is worth.
_MOST_SEARCHED = 4096


class LineBatch(NamedTuple):
    """New complete lines with a newline between them, the number of bells, and whether anything was drawn."""

    block: bytes
    lines: int
    bells: int
    is_change: bool


class LineSplitter:
    """Splits chunks of bytes into lines. Memory is bounded by one line."""

    def __init__(self, *, needs_text: bool = True, letters: DrawnLetters | None = None) -> None:
        """Create a splitter; without `needs_text` it only counts lines.

        `letters` knows which character set is in use, where several splitters share the bytes of a pane.
        """
        self._needs_text = needs_text
        self._letters = letters or (DrawnLetters() if needs_text else None)
        self._held = b""
        self._line = b""
        # Length so far of a title or another string that has not ended; None outside of strings.
        self._string_bytes: int | None = None

    def feed(self, data: bytes) -> LineBatch:
        """Take the next bytes and return the lines that they complete."""
        data = self._remove_colours(self._held + data)
        if ESC_BYTES in data or self._string_bytes is not None:
            data = self._remove_strings(data)
        if self._letters is not None:
            data = self._letters.feed(data)
        bells = data.count(b"\x07")
        is_change = len(data) > _MOST_SEARCHED or bool(_ALTERNATE.search(data) or _INVISIBLE.sub(b"", data))
        if not self._needs_text:
            return LineBatch(b"", data.count(b"\n"), bells, is_change)
        whole, self._line = _split_finished(self._line + data)
        block = strip_sequences(whole).removesuffix(b"\n") if whole else b""
        return LineBatch(block, block.count(b"\n") + 1 if whole else 0, bells, is_change)

    @property
    def open_line(self) -> bytes:
        """Return the last line, which has not ended yet."""
        return strip_sequences(self._line)

    def end_line(self) -> bytes:
        """End the last line here and return it."""
        line, self._line = self.open_line, b""
        return line

    def _remove_colours(self, data: bytes) -> bytes:
        """Return much data without colours if it has no other sequences, else as it is.

        Most of what floods a pane is such, and to search it for strings would take most of the time.
        """
        self._held = b""
        if self._string_bytes is not None or len(data) <= _MOST_SEARCHED or ESC_BYTES not in data:
            return data
        text, torn = _split_torn(data)
        plain = _COMMON.sub(b"", text)
        if ESC_BYTES in plain:
            return data
        self._held = torn
        return plain

    def _remove_strings(self, data: bytes) -> bytes:
        """Return the data without strings: titles and images are not text. Hold a torn sequence back."""
        self._held = b""
        pieces: list[bytes] = []
        at = 0
        while True:
            if self._string_bytes is not None:
                at = self._skip_string(data, at)
                if self._string_bytes is not None:
                    return b"".join(pieces)
            start = _STRING_START.search(data, at)
            if start is None:
                pieces.append(self._hold_back_torn(data[at:]))
                return b"".join(pieces)
            pieces.append(_CUT.sub(b"", data[at : start.start()]))
            at, self._string_bytes = start.end(), 0

    def _skip_string(self, data: bytes, at: int) -> int:
        """Return where the string that contains `at` ends, or the end of the data."""
        ended = _STRING_END.search(data, at)
        if ended is not None:
            self._string_bytes = None
            return ended.end()
        self._held = ESC_BYTES if data.endswith(ESC_BYTES) else b""
        length = (self._string_bytes or 0) + len(data) - at
        # tmux also gives up a string that does not end.
        self._string_bytes = length if length < _LONGEST_STRING else None
        return len(data)

    def _hold_back_torn(self, data: bytes) -> bytes:
        data, self._held = _split_torn(data)
        return _CUT.sub(b"", data)


def strip_sequences(data: bytes) -> bytes:
    """Return only the text, with a newline wherever a line ended.

    The data must contain no strings and no torn sequences.
    """
    data = data.replace(b"\r\n", b"\n")
    if ESC_BYTES in data:
        data = _COMMON.sub(b"", data)
    if ESC_BYTES in data:
        data = _SEQUENCE.sub(b"", _MOVE_RIGHT.sub(b" ", _LINE_ENDING.sub(b"\n", data)))
    elif b"\r" in data or b"\x0b" in data or b"\x0c" in data:
        data = _LINE_ENDING.sub(b"\n", data)
    if b"\x08" in data:
        data = _OVERTYPED.sub(b"", data)
    return data.translate(None, _CONTROLS)


def _split_torn(data: bytes) -> tuple[bytes, bytes]:
    """Split off the beginning of a sequence at the end of the data."""
    torn = _TORN.search(data, max(0, len(data) - _LONGEST_SEQUENCE))
    return (data, b"") if torn is None else (data[: torn.start()], data[torn.start() :])


def _split_finished(data: bytes) -> tuple[bytes, bytes]:
    """Split data into complete lines and the unfinished one, which is cut if it is too long."""
    end = data.rfind(b"\n") + 1
    returned = data.rfind(b"\r", 0, max(len(data) - 1, 0)) + 1
    end = max(end, returned)
    if len(data) - end > LONGEST_LINE:
        end = len(data)
    return data[:end], data[end:]
