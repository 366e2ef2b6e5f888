"""The exit mark: the launcher of a command prints it, with status and signal, when the command has ended."""

from __future__ import annotations

import re

from muxpilot.terminal.escapes import BEL_BYTES, OSC_BYTES, PRIVATE_NUMBER, count_torn_mark
from muxpilot.tmux.streams.stream import ExitStatus
from muxpilot.trace import Trace

_INTRODUCER = OSC_BYTES + PRIVATE_NUMBER.encode() + b";"
_EXIT_MARK = re.escape(_INTRODUCER) + rb"%s;([0-9]+);([0-9]*)" + BEL_BYTES
_LONGEST_MARK = 48
_MARK_WORD = re.compile("[0-9a-f]{16}")


class ExitMarkFilter:
    """Takes the exit mark out of a pane's output. Without a mark word everything passes.

    `exit_status` is what the mark says. With `ends_output`, nothing passes after the mark.
    """

    def __init__(self, word: str, trace: Trace, *, ends_output: bool = False) -> None:
        is_word = _MARK_WORD.fullmatch(word) is not None
        self.exit_status: ExitStatus | None = None
        self._mark = re.compile(_EXIT_MARK % word.encode()) if is_word else None
        self._ends_output = ends_output
        self._held_back = b""
        self._trace = trace

    def filter(self, data: bytes) -> bytes:
        """Return all output but the exit mark; hold back what may be its beginning."""
        if self._mark is None:
            return data
        if self._ends_output and self.exit_status is not None:
            return b""
        data = self._held_back + data
        marks = list(self._mark.finditer(data))
        if marks:
            # The launcher prints its mark last: one before it was printed by the program.
            found = marks[0 if self._ends_output else -1]
            self.exit_status = ExitStatus(int(found[1]), int(found[2]) if found[2] else None)
            self._trace.debug(
                "exit mark seen", status=self.exit_status.status, signal=self.exit_status.signal
            )
            self._held_back = b""
            if self._ends_output:
                return data[: found.start()]
            data = self._mark.sub(b"", data)
        keep = count_torn_mark(data, _INTRODUCER, longest=_LONGEST_MARK)
        self._held_back = data[len(data) - keep :] if keep else b""
        return data[: len(data) - keep]

    def flush(self) -> bytes:
        """Return what was held back: no more output follows."""
        held_back, self._held_back = self._held_back, b""
        return held_back
