"""When a program has answered: by its prompt, by the system's answer that it waits, and by silence."""

from __future__ import annotations

import asyncio
from enum import Enum

from muxpilot.processes.identity import has_ended
from muxpilot.processes.repl_prompts import is_known_prompt, recognize_prompt
from muxpilot.processes.screen_programs import SCREEN_PROGRAMS
from muxpilot.processes.state import ForegroundState, read_state
from muxpilot.repl.exchange import Exchange, StreamListener
from muxpilot.repl.wait_ready import ReadyProgram
from muxpilot.terminal.prompt_signs import PROGRAM_SIGNS, looks_like_classic_shell_prompt
from muxpilot.timing import ReplTiming
from muxpilot.trace import Trace


class Outcome(Enum):
    """The outcome of a step."""

    PROMPT = "the program is at its prompt"
    MORE = "it waits for the rest of the input"
    ASKS = "it asks for something"
    EXITED = "it has ended"
    TIMEOUT = "it is not done"


class OutcomeDetector:
    """Waits for the outcome of each step.

    `line` is the text before the cursor and `state` what the foreground program does, as of the last check.
    """

    def __init__(
        self,
        ready: ReadyProgram,
        listener: StreamListener,
        deadline: float,
        *,
        timing: ReplTiming,
        trace: Trace,
    ) -> None:
        self.prompt = ready.prompt
        self.state = ready.state
        self.line = ready.line
        self._line_before_step = ready.line
        self._row = ready.row
        self._program = ready.state
        self._listener = listener
        self._deadline = deadline
        self._timing = timing
        self._trace = trace
        # When the program was first seen to wait, and the time of the last output then.
        self._waiting_since: tuple[float, float] | None = None

    async def wait_for_outcome(self, exchange: Exchange) -> Outcome:
        """Return the outcome of a step, at the deadline at the latest."""
        listener, loop = self._listener, asyncio.get_running_loop()
        self._line_before_step = self.line
        while True:
            left_s = self._deadline - loop.time()
            if left_s <= 0:
                return Outcome.TIMEOUT
            await listener.wait_for_change(min(left_s, self._next_check_s(listener.silence_s)))
            if listener.ended is not None:
                return Outcome.EXITED
            is_quiet = listener.silence_s >= self._timing.state_checks_s[0]
            if is_quiet and (outcome := await self._judge(exchange)):
                return outcome

    def _next_check_s(self, silence_s: float) -> float:
        timing = self._timing
        if self._waiting_since is not None and self._waiting_since[1] == self._listener.last_output:
            waited_s = asyncio.get_running_loop().time() - self._waiting_since[0]
            if waited_s < timing.output_arrival_s:
                return timing.output_arrival_s - waited_s + timing.timer_margin_s
        later = (check_s for check_s in timing.state_checks_s if check_s > silence_s)
        return next(later, silence_s + timing.longest_state_check_s) - silence_s

    async def _judge(self, exchange: Exchange) -> Outcome | None:
        last_output = self._listener.last_output
        state = await read_state(self._row)
        if self._listener.last_output != last_output:
            return None
        silence_s = self._listener.silence_s
        self.state = state
        outcome = self._judge_state(exchange, state, silence_s)
        if self._trace.is_debug:
            self._trace.debug(
                "outcome checked",
                outcome=outcome.name if outcome is not None else None,
                waiting_for=state.waiting_for,
                evidence=state.evidence,
                silence_ms=round(silence_s * 1000),
                is_past_echo=exchange.is_past_echo,
            )
        return outcome

    def _judge_state(self, exchange: Exchange, state: ForegroundState, silence_s: float) -> Outcome | None:
        if self._has_program_ended():
            # The shell's prompt may still be on its way to us: without it, the last line of the answer would
            # be taken for the prompt.
            is_back = state.waiting_for is not None and self._has_waited(state, self._listener.last_output)
            return Outcome.EXITED if is_back or silence_s >= self._timing.exit_s else None
        if not self._has_waited(state, self._listener.last_output):
            return None
        exchange.strip_echo()
        if state.foreground_cmd in SCREEN_PROGRAMS:
            return Outcome.ASKS if silence_s >= self._timing.screen_program_s else None
        outcome = self._judge_screen(exchange, state, silence_s)
        is_menu = outcome is None and self._is_at_menu(state) and silence_s >= self._timing.menu_s
        return Outcome.ASKS if is_menu else outcome

    def _is_at_menu(self, state: ForegroundState) -> bool:
        """Return whether a program takes keys, and is not one whose prompt we know.

        Some programs with a known prompt take keys while they work: node does so while it waits for a timer.
        """
        is_other = state.foreground_pid != self._program.foreground_pid
        is_unknown = self.prompt.kind.name == "unknown" and not self.prompt.is_given
        return state.waiting_for == "key" and state.is_known and (is_other or is_unknown)

    def _has_waited(self, state: ForegroundState, last_output: float) -> bool:
        """Return whether the program has waited long enough for its output to have reached us."""
        if state.is_known and state.waiting_for is None:
            self._waiting_since = None
            return False
        now = asyncio.get_running_loop().time()
        if self._waiting_since is None or self._waiting_since[1] != last_output:
            self._waiting_since = now, last_output
        return now - self._waiting_since[0] >= self._timing.output_arrival_s

    def _judge_screen(self, exchange: Exchange, state: ForegroundState, silence_s: float) -> Outcome | None:
        """Judge a program that waits by the last line that it has printed."""
        timing, prompt = self._timing, self.prompt
        least_s = 0.0 if state.is_known else timing.by_look_s
        tail = exchange.tail()
        line = _last_line(tail)
        may_be_edited = exchange.is_past_echo or exchange.has_paste_mode is not False
        is_open = bool(line) and not (exchange.is_past_echo and tail.endswith("\n"))
        if may_be_edited and is_open and prompt.asks_for_more(line):
            self.line = line
            return Outcome.MORE if silence_s >= max(timing.continuation_s, least_s) else None
        if not exchange.is_past_echo:
            return None
        if prompt.without_prompt(tail) is not None:
            self.line = line
            wanted_s = timing.empty_line_s if prompt.is_empty else timing.prompt_s
            return Outcome.PROMPT if silence_s >= max(wanted_s, least_s) else None
        if prompt.is_given:
            return None
        self.line = line
        return self._judge_other_text(line, state, silence_s) if is_open else None

    def _judge_other_text(self, line: str, state: ForegroundState, silence_s: float) -> Outcome | None:
        """Judge a last line that is not ended and is not the prompt."""
        timing = self._timing
        if self._is_new_prompt(line, state, silence_s):
            self.prompt = recognize_prompt(line, state.foreground_cmd)
            return None
        if not state.is_known:
            is_shell = state.is_remote and looks_like_classic_shell_prompt(line)
            return Outcome.EXITED if is_shell and silence_s >= timing.by_look_s else None
        wanted_s = timing.password_s if state.waiting_for == "password" else timing.question_s
        return Outcome.ASKS if silence_s >= wanted_s else None

    def _is_new_prompt(self, line: str, state: ForegroundState, silence_s: float) -> bool:
        """Return whether the program's own prompt is back after a question, or has changed its text."""
        if self.prompt.kind.name != "unknown" or self.prompt.is_empty:
            return False
        sign = line.rstrip()[-1:]
        is_same_sign = sign in PROGRAM_SIGNS and sign == self._line_before_step.rstrip()[-1:]
        is_quiet = silence_s >= self._timing.by_look_s
        return is_known_prompt(line, state.foreground_cmd) or (is_same_sign and is_quiet)

    def _has_program_ended(self) -> bool:
        """Return whether the program that got the input has ended, whatever it has started meanwhile."""
        pid = self._program.foreground_pid
        if pid is None or self._program.is_remote:
            return False
        if self._row.remote_shell is not None:
            return self.state.waiting_for == "shell"
        return has_ended(pid)


def _last_line(text: str) -> str:
    lines = [line for line in text.split("\n") if line.strip()]
    return lines[-1] if lines else ""
