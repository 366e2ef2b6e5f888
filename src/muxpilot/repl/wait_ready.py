"""Wait until the foreground program of a pane waits for input. Panes where none does are refused."""

from __future__ import annotations

import asyncio
import math

from muxpilot.errors import PaneDead, Refused
from muxpilot.processes.repl_prompts import (
    FindPrompt,
    ReplPrompt,
    is_known_prompt,
    recognize_prompt,
    text_typed_at_prompt,
)
from muxpilot.processes.state import ForegroundState, read_state
from muxpilot.records import record
from muxpilot.terminal.prompt_signs import looks_like_classic_shell_prompt
from muxpilot.terminal.text import render_lines
from muxpilot.timing import ReplTiming
from muxpilot.tmux import Pane, PaneId, PaneStream, Tmux
from muxpilot.trace import Trace

_COMPARED_BYTES = 4096


@record
class ReadyProgram:
    """A program that waits for input; `line` is the text before the cursor."""

    row: Pane
    state: ForegroundState
    line: str
    prompt: ReplPrompt


class ProgramWaiter:
    """Looks at a pane, again and again, until the foreground program there waits for input."""

    def __init__(
        self,
        tmux: Tmux,
        pane: PaneId,
        stream: PaneStream,
        deadline: float,
        *,
        search: FindPrompt | None,
        timing: ReplTiming,
        trace: Trace,
    ) -> None:
        """Begin the wait. `search` finds a prompt that the caller has described."""
        self._tmux = tmux
        self._pane = pane
        self._stream = stream
        self._deadline = deadline
        self._search = search
        self._timing = timing
        self._trace = trace
        self._now = asyncio.get_running_loop().time
        self._began = self._last_output = self._now()
        self._stream_end = stream.end

    async def wait_for_program(self) -> ReadyProgram:
        """Wait until the program waits for input. Raise Refused if it is a shell, or does not wait."""
        while True:
            row, state = await _read_pane(self._tmux, self._pane)
            if self._stream.end != self._stream_end:
                self._last_output, self._stream_end = self._now(), self._stream.end
            ready = await self._check(row, state)
            if ready is not None:
                return ready
            await asyncio.sleep(self._timing.ready_check_s)

    async def _check(self, row: Pane, state: ForegroundState) -> ReadyProgram | None:
        """Return the program if it waits for input now. Raise Refused if no REPL is in front for too long."""
        if row.is_alternate:
            # A key that was just pressed, such as the q of a pager, may end it.
            if self._is_late(after_s=self._timing.full_screen_end_s):
                raise _full_screen(self._pane, state)
        elif state.waiting_for == "shell":
            if self._is_late(after_s=self._timing.program_start_s):
                raise _no_repl(self._pane, f"{state.foreground_cmd} is at its prompt")
        elif state.waiting_for is not None or not state.is_known:
            return await self._check_prompt(row, state, is_late=self._is_late())
        elif self._is_late():
            raise Refused(
                f"{state.foreground_cmd} in pane {self._pane} is busy; nothing was typed.",
                "Wait with watch-pane, or interrupt it with C-c.",
            )
        return None

    async def _check_prompt(self, row: Pane, state: ForegroundState, *, is_late: bool) -> ReadyProgram | None:
        """Return the program if the line at the cursor has stood there for long enough to be its prompt."""
        timing, program = self._timing, state.foreground_cmd
        line = await self._tmux.capture.text_before_cursor(self._pane)
        is_behind = self._tmux.streams.is_own_pane(self._pane) and not _has_line_at_end(self._stream, line)
        wanted_s = timing.stream_lag_s if is_behind else _wanted_silence_s(line, state, timing)
        self._trace.debug("a program waits", program=program, is_behind=is_behind, wants_s=wanted_s)
        if not is_late and self._now() - self._last_output < wanted_s:
            return None
        prompt = recognize_prompt(line, program, search=self._search)
        return _refuse_other_text(self._pane, ReadyProgram(row, state, line, prompt))

    def _is_late(self, *, after_s: float = math.inf) -> bool:
        """Return whether the deadline has passed, or so many seconds since the wait began."""
        return self._now() >= min(self._deadline, self._began + after_s)


async def _read_pane(tmux: Tmux, pane: PaneId) -> tuple[Pane, ForegroundState]:
    row = await tmux.panes.get(pane)
    if row.is_dead:
        raise PaneDead(f"The program of pane {pane!r} has ended.")
    return row, await read_state(row)


def _has_line_at_end(stream: PaneStream, line: str) -> bool:
    """Return whether the stream's end has the line that tmux shows, so that we are not behind."""
    recent = stream.read(stream.end - _COMPARED_BYTES, stream.end)
    shown = [row for row in render_lines(recent) if row.strip()]
    return not line.strip() or bool(shown and line.strip() in shown[-1])


def _wanted_silence_s(line: str, state: ForegroundState, timing: ReplTiming) -> float:
    """Return how long the pane must be quiet before this line counts as the prompt."""
    if not line.strip() or not state.is_known:
        return timing.empty_prompt_s
    return timing.known_prompt_s if is_known_prompt(line, state.foreground_cmd) else timing.other_prompt_s


def _refuse_other_text(pane: PaneId, ready: ReadyProgram) -> ReadyProgram:
    """Return the program; raise Refused for a shell inside ssh, and for text that is typed already."""
    program = ready.state.foreground_cmd
    is_remote_prompt = ready.state.is_remote and looks_like_classic_shell_prompt(ready.line)
    if is_remote_prompt and not is_known_prompt(ready.line, program):
        raise _no_repl(pane, f"a shell inside {program} is at its prompt")
    if text_typed_at_prompt(ready.line, program):
        raise Refused(
            f"There is text that a person typed at the prompt in pane {pane}.",
            "Press C-u to remove it, or Enter to run it.",
        )
    return ready


def _full_screen(pane: PaneId, state: ForegroundState) -> Refused:
    return Refused(
        f"A full-screen program, {state.foreground_cmd}, runs in pane {pane}.",
        "Use send-keys and capture-pane.",
    )


def _no_repl(pane: PaneId, why: str) -> Refused:
    return Refused(f"No REPL runs in pane {pane}: {why}.", "Use execute-command, or start the REPL with it.")
