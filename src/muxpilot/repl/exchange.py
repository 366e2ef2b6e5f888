"""What a program says to one step: everything behind the echo of what was typed."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from muxpilot.repl.steps import Step
from muxpilot.shells.command_output import Output
from muxpilot.terminal.text import text_lines
from muxpilot.tmux import Data, End, Gap, PaneStream

MOST_OUTPUT = 65536
_CAP_BYTES = 4 * MOST_OUTPUT
_LONGEST_ECHO = 1 << 18
_TAIL = 2000
_RECENT = 4096

# Line editors that take a paste as one edit say where they begin and end: after Enter, output follows.
_PASTE_MODE, _PASTE_OFF, _PASTE_ON = b"\x1b[?2004", b"\x1b[?2004l", b"\x1b[?2004h"
_NEWLINES_LOOKED_AT = 3
# A shell with marks of ours has come back.
_SHELL_MARKS = (b"\x1b]133;E;", b"\x1b]133;D;")


class Turn:
    """One step and the answer to it.

    `is_pasting`: whether a line editor that knows pastes reads the step; None if that is not known.
    """

    def __init__(
        self, step: Step, height: int, *, before: str, is_pasting: bool | None, echoes: bool
    ) -> None:
        self.is_pasting = is_pasting
        self._step = step
        self._before = before
        self._height = height
        self._echo: bytearray | None = bytearray() if echoes else None
        self._output = Output(height, _CAP_BYTES)
        self._output.feed(b"\r\n")  # editors go up a line and down again before their prompt

    @property
    def is_past_echo(self) -> bool:
        return self._echo is None

    def has_echoed(self, newlines: int) -> bool:
        """Whether so many lines have come, and the prompt of the next."""
        if self._echo is None or not newlines:
            return True
        return self._echo.count(b"\n") >= newlines and not self._echo.endswith(b"\n")

    def feed(self, data: bytes) -> None:
        if self._echo is None:
            self._output.feed(data)
            return
        self._echo += data
        if self.is_pasting is not None or len(self._echo) > _LONGEST_ECHO:
            self.settle()

    def settle(self) -> None:
        """Look for the end of the echo, as far as it has come."""
        if self._echo is None:
            return
        end = self._end_of_echo(bytes(self._echo))
        if end is not None:
            rest, self._echo = bytes(self._echo[end:]), None
            self._output.feed(rest)

    def tail(self) -> str:
        """The last of it; before the echo's end has come, the line that is being edited."""
        if self._echo is None:
            return self._output.excerpt(_TAIL)[0].removeprefix("\n")
        if b"\n" not in self._echo:
            return ""
        return "\n".join(text_lines(bytes(self._echo), before=self._before, height=self._height))

    def text(self) -> str:
        if self._echo is not None:
            return ""
        return self._output.excerpt(MOST_OUTPUT)[0].removeprefix("\n")

    def close(self) -> None:
        self._output.close()

    def _end_of_echo(self, data: bytes) -> int | None:
        at = data.find(_PASTE_OFF) if self.is_pasting is not False else -1
        if at >= 0:
            return at + len(_PASTE_OFF)
        if self.is_pasting and len(data) <= _LONGEST_ECHO:
            return None
        ends = _newlines(data, self._step.newlines + _NEWLINES_LOOKED_AT)[self._step.newlines - 1 :]
        for end in ends:
            if self._shows_step(data[:end]):
                return end
        return ends[0] if ends and self.is_pasting is not None else 0 if len(data) > _LONGEST_ECHO else None

    def _shows_step(self, data: bytes) -> bool:
        shown = "".join(text_lines(data, before=self._before, height=self._height))
        return _squashed(shown).endswith(_squashed(self._step.shown))


class Listener:
    """Reads a pane's stream for whoever has the turn."""

    def __init__(self, stream: PaneStream, *, is_whole: bool) -> None:
        self._turn: Turn | None = None
        self.last_output = asyncio.get_running_loop().time()
        self.ended: End | None = None
        self.has_gap = False
        self._stream = stream
        self._recent = b""
        self.is_pasting = _is_pasting(
            stream.read(stream.start, stream.end), otherwise=False if is_whole else None
        )
        self._change = asyncio.Event()

    @property
    def silence_s(self) -> float:
        return asyncio.get_running_loop().time() - self.last_output

    def begin(self, turn: Turn) -> None:
        """From now on everything is an answer to this."""
        self._turn, self._recent = turn, b""
        self.last_output = asyncio.get_running_loop().time()

    async def follow(self) -> None:
        async for event in self._stream.follow(self._stream.end):
            if isinstance(event, Data):
                self._hear(event.data)
            elif isinstance(event, Gap):
                self.has_gap = True
            elif isinstance(event, End):
                self.ended = event
            self._change.set()
            self._change = asyncio.Event()

    async def change(self, timeout_s: float) -> None:
        """Until something comes, or until then."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._change.wait()

    def shells_prompt(self) -> str | None:
        """What a shell has shown since the program ended, where it says where that begins."""
        starts = [at for mark in _SHELL_MARKS if (at := self._recent.rfind(mark)) >= 0]
        starts = starts or [at for at in [self._recent.rfind(_PASTE_ON)] if at >= 0]
        if not starts:
            return None
        lines = text_lines(self._recent[min(starts) :])
        return "\n".join(lines).strip()

    def _hear(self, data: bytes) -> None:
        self.last_output = asyncio.get_running_loop().time()
        self._recent = (self._recent + data)[-_RECENT:]
        self.is_pasting = _is_pasting(self._recent, otherwise=self.is_pasting)
        if self._turn is not None:
            self._turn.feed(data)


def _is_pasting(data: bytes, *, otherwise: bool | None) -> bool | None:
    at = data.rfind(_PASTE_MODE)
    mode = data[at + len(_PASTE_MODE) :][:1] if at >= 0 else b""
    return mode == b"h" if mode in (b"h", b"l") and mode else otherwise


def _newlines(data: bytes, most: int) -> list[int]:
    """Where the first lines end."""
    ends: list[int] = []
    at = data.find(b"\n")
    while at >= 0 and len(ends) < most:
        ends.append(at + 1)
        at = data.find(b"\n", at + 1)
    return ends


def _squashed(text: str) -> str:
    return "".join(text.split())
