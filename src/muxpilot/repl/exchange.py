"""One step of an input, and the program's answer to it: all output after the echo of the typed text."""

from __future__ import annotations

import asyncio

from muxpilot.repl.steps import InputStep
from muxpilot.shells.command_output import CommandOutput
from muxpilot.shells.osc133 import MarkKind, mark_start
from muxpilot.tasks import ChangeSignal
from muxpilot.terminal.escapes import PASTE_MODE_BYTES
from muxpilot.terminal.shape import ScreenShape
from muxpilot.terminal.text import render_lines
from muxpilot.tmux import Data, End, Gap, PaneStream

MOST_OUTPUT = 65536
_KEPT_BYTES = 4 * MOST_OUTPUT
# How far back to look for the switch to bracketed paste.
_SEARCHED_BYTES = 2 << 20
_LONGEST_ECHO = 1 << 18
_TAIL_BYTES = 2000
_RECENT_BYTES = 4096

# A line editor that takes a paste as one edit turns paste mode on at its prompt and off after Enter. What
# follows is output.
_PASTE_OFF, _PASTE_ON = PASTE_MODE_BYTES + b"l", PASTE_MODE_BYTES + b"h"
# An editor may print more line ends than were typed; the echo's end is looked for in so many.
_MORE_LINE_ENDS = 3
# Marks that a shell of the pane prints when the program has ended.
_SHELL_MARKS = (mark_start(MarkKind.OUTPUT_END), mark_start(MarkKind.STATUS))


class Exchange:
    """One step and the answer to it.

    `has_paste_mode`: whether a line editor with paste mode reads the step; None if that is not known.
    """

    def __init__(
        self, step: InputStep, shape: ScreenShape, *, before: str, has_paste_mode: bool | None, echoes: bool
    ) -> None:
        """Take the text `before` the cursor. `echoes`: the step will be shown when it is typed."""
        self.has_paste_mode = has_paste_mode
        self.text_before_mark: str | None = None  # the answer when a shell of the pane printed its first mark
        self._step = step
        self._before = before
        self._shape = shape
        self._echo: bytearray | None = bytearray() if echoes else None
        self._output = CommandOutput(shape, _KEPT_BYTES)
        self._output.feed(b"\r\n")  # editors go up a line and down again before their prompt

    @property
    def is_past_echo(self) -> bool:
        return self._echo is None

    def has_echoed(self, line_ends: int) -> bool:
        """Return whether so many lines have been echoed, and the prompt of the next has been printed."""
        if self._echo is None or not line_ends:
            return True
        return self._echo.count(b"\n") >= line_ends and not self._echo.endswith(b"\n")

    def feed(self, data: bytes) -> None:
        """Take bytes that came after the step was typed."""
        if self._echo is None:
            self._output.feed(data)
            return
        self._echo += data
        if self.has_paste_mode is not None or len(self._echo) > _LONGEST_ECHO:
            self.strip_echo()

    def strip_echo(self) -> None:
        """Look for the end of the echo in the bytes so far; what follows it is the answer."""
        if self._echo is None:
            return
        end = self._find_echo_end(bytes(self._echo))
        if end is not None:
            answer, self._echo = bytes(self._echo[end:]), None
            self._output.feed(answer)

    def tail(self) -> str:
        """Return the end of the answer; before the echo has ended, the line that is being edited."""
        if self._echo is None:
            return self._output.excerpt(_TAIL_BYTES)[0].removeprefix("\n")
        if b"\n" not in self._echo:
            return ""
        return "\n".join(render_lines(bytes(self._echo), before=self._before, shape=self._shape))

    def text(self) -> str:
        if self._echo is not None:
            return ""
        return self._output.excerpt(MOST_OUTPUT)[0].removeprefix("\n")

    def note_shell_mark(self) -> None:
        """Keep the answer so far. If the program has ended, what follows is not its own."""
        self.strip_echo()
        if self.is_past_echo and self.text_before_mark is None:
            self.text_before_mark = self.text()

    def close(self) -> None:
        self._output.close()

    def _find_echo_end(self, data: bytes) -> int | None:
        at = data.find(_PASTE_OFF) if self.has_paste_mode is not False else -1
        if at >= 0:
            return at + len(_PASTE_OFF)
        if self.has_paste_mode and len(data) <= _LONGEST_ECHO:
            return None
        typed = self._step.echo_lines
        ends = _find_line_ends(data, typed + _MORE_LINE_ENDS)[typed - 1 :]
        for end in ends:
            if self._shows_step(data[:end]):
                return end
        if ends and self.has_paste_mode is not None:
            return ends[0]
        return 0 if len(data) > _LONGEST_ECHO else None

    def _shows_step(self, data: bytes) -> bool:
        shown = "".join(render_lines(data, before=self._before, shape=self._shape))
        return _without_blanks(shown).endswith(_without_blanks(self._step.last_echo_line))


class StreamListener:
    """Reads a pane's stream, and gives the bytes to the current exchange."""

    def __init__(self, stream: PaneStream, *, is_whole: bool) -> None:
        """Read from a stream; `is_whole` says that it has the pane's output from its first byte on."""
        self.last_output = asyncio.get_running_loop().time()
        self.ended: End | None = None
        self.has_gap = False
        self.offset = stream.end
        self.has_paste_mode = _find_paste_mode(
            stream.read(stream.end - _SEARCHED_BYTES, stream.end), otherwise=False if is_whole else None
        )
        self._exchange: Exchange | None = None
        self._stream = stream
        self._recent = b""
        self._signal = ChangeSignal()

    @property
    def silence_s(self) -> float:
        return asyncio.get_running_loop().time() - self.last_output

    def begin(self, exchange: Exchange) -> None:
        """Give all output from now on to this exchange."""
        self._exchange, self._recent = exchange, b""
        self.last_output = asyncio.get_running_loop().time()

    async def follow(self) -> None:
        """Read the stream until its end."""
        async for event in self._stream.follow(self._stream.end):
            if isinstance(event, Data):
                self.offset = event.offset + len(event.data)
                self._feed(event.data)
            elif isinstance(event, Gap):
                self.has_gap = True
            elif isinstance(event, End):
                self.ended = event
            self._signal.notify()

    async def wait_for_change(self, timeout_s: float) -> None:
        await self._signal.wait(timeout_s)

    def shell_prompt_after_exit(self) -> str | None:
        """Return what a shell has shown since the program ended; None if its beginning is not known."""
        starts = [at for mark in _SHELL_MARKS if (at := self._recent.rfind(mark)) >= 0]
        starts = starts or [at for at in [self._recent.rfind(_PASTE_ON)] if at >= 0]
        if not starts:
            return None
        lines = render_lines(self._recent[min(starts) :])
        return "\n".join(lines).strip()

    def _feed(self, data: bytes) -> None:
        self.last_output = asyncio.get_running_loop().time()
        self._recent = (self._recent + data)[-_RECENT_BYTES:]
        self.has_paste_mode = _find_paste_mode(self._recent, otherwise=self.has_paste_mode)
        if self._exchange is None:
            return
        starts = [at for mark in _SHELL_MARKS if (at := data.find(mark)) >= 0]
        if starts and self._exchange.text_before_mark is None:
            self._exchange.feed(data[: min(starts)])
            self._exchange.note_shell_mark()
            data = data[min(starts) :]
        self._exchange.feed(data)


def _find_paste_mode(data: bytes, *, otherwise: bool | None) -> bool | None:
    """Return whether paste mode was turned on last; `otherwise` if the bytes do not show it."""
    at = data.rfind(PASTE_MODE_BYTES)
    mode = data[at + len(PASTE_MODE_BYTES) :][:1] if at >= 0 else b""
    return mode == b"h" if mode in (b"h", b"l") else otherwise


def _find_line_ends(data: bytes, most: int) -> list[int]:
    """Return the offsets after the first line ends, at most so many."""
    ends: list[int] = []
    at = data.find(b"\n")
    while at >= 0 and len(ends) < most:
        ends.append(at + 1)
        at = data.find(b"\n", at + 1)
    return ends


def _without_blanks(text: str) -> str:
    return "".join(text.split())
