"""Print the output of a command as it comes.

The text is the one that tools answer: without escape sequences, and lines that the command redraws as they
are in the end. Whole lines are printed at once; the last, unfinished line when the command ends or waits.
Colours stay where the output keeps them, for a terminal.
"""

from __future__ import annotations

import codecs
import sys
from itertools import takewhile
from typing import TYPE_CHECKING

from muxpilot.shells.command_output import CommandOutput, NewOutput
from muxpilot.terminal.escapes import CSI
from muxpilot.terminal.sanitize import sanitize_text

if TYPE_CHECKING:
    from muxpilot.redaction.redactor import Redactor

_CHUNK_BYTES = 1 << 18
_NORMAL = f"{CSI}0m"
# Text before a part that is searched for secrets with it.
_CONTEXT = 1 << 13


class OutputPrinter:
    """Prints the output of one command to stdout, each byte once."""

    def __init__(self, output: CommandOutput, *, offset: int = 0, redactor: Redactor | None = None) -> None:
        """Print from an offset on; with a redactor, without secrets."""
        self._redactor = redactor
        self._before = output.slice(offset - min(offset, _CONTEXT), min(offset, _CONTEXT)).text
        self._output = output
        self._offset = offset  # everything before it is printed and will not change
        self._shown = b""  # what is printed after the offset
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._has_colours = False
        self.skipped_bytes = 0

    @property
    def offset(self) -> int:
        """Return how many bytes of the output were printed."""
        return self._offset + len(self._shown)

    def print_new(self, *, is_last: bool = False) -> None:
        """Print what has come: whole lines that the command does not redraw; at last everything."""
        while True:
            new = self._output.read_from(self._offset, _CHUNK_BYTES)
            self._print_part(new, new.data if is_last else new.data[: _printable_bytes(new)])
            if not new.has_more:
                break
        if is_last and self._has_colours:
            sys.stdout.write(_NORMAL)
        sys.stdout.flush()

    def _print_part(self, new: NewOutput, data: bytes) -> None:
        if new.begin > self._offset:
            self.skipped_bytes += new.begin - self._offset
        if new.begin != self._offset:
            self._offset, self._shown = new.begin, b""
        if data.startswith(self._shown):
            self._write(data[len(self._shown) :])
            self._shown = data
        elif not self._shown.startswith(data):
            self._print_again(data)
        self._offset += new.settled_bytes
        self._shown = self._shown[new.settled_bytes :]

    def _print_again(self, data: bytes) -> None:
        """Print lines again that the command has changed after they were printed."""
        before, now = self._shown.splitlines(keepends=True), data.splitlines(keepends=True)
        same = sum(1 for _ in takewhile(lambda lines: lines[0] == lines[1], zip(before, now, strict=False)))
        if not self._shown.endswith(b"\n"):
            self._write(b"\n")
        self._write(b"".join(now[same:]))
        self._shown = data

    def _write(self, data: bytes) -> None:
        text = sanitize_text(self._decoder.decode(data), colors=self._output.keeps_colours)
        self._has_colours = self._has_colours or CSI in text
        if self._redactor is not None:
            shown = self._redactor.redact_part(self._before, text, "")
            self._before, text = (self._before + text)[-_CONTEXT:], shown
        sys.stdout.write(text)


def _printable_bytes(new: NewOutput) -> int:
    if new.is_redrawn:
        return new.settled_bytes
    return max(new.settled_bytes, new.data.rfind(b"\n") + 1)
