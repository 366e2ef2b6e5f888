"""When a program has answered: by its prompt, by the system's word that it waits, and by silence."""

from __future__ import annotations

import asyncio
import os
from enum import Enum

from muxpilot.processes.proc import Kernel, asked
from muxpilot.processes.state import State, state_of
from muxpilot.repl.exchange import Listener, Turn
from muxpilot.repl.prompt_table import is_known, prompt_of
from muxpilot.repl.wait_ready import FAR_SHELL, Ready

# The state is asked for after so much silence, and then again and again.
_LOOKS_S = (0.01, 0.03, 0.06, 0.1, 0.2, 0.3, 0.45, 0.65, 1.0)
_RARELY_S = 0.5
# How long it must be silent: where the system tells that it waits, and where only its look tells.
_PROMPT_S, _MORE_S, _EMPTY_S, _PASSWORD_S, _ASKS_S = 0.03, 0.06, 0.15, 0.15, 0.6
_BY_LOOK_S = 0.3
# What it printed before it began to wait may still be on its way: it is seen to wait twice.
_UNDERWAY_S = 0.018
_GONE_S = 0.3
_SIGNS = frozenset(">#$%")


class Verdict(Enum):
    PROMPT = "it stands at its prompt"
    MORE = "it waits for the rest of the input"
    ASKS = "it asks for something"
    EXITED = "it has ended"
    TIMEOUT = "it is not done"


class Verdicts:
    """`before` is what stands before the cursor, `state` what the program in front does."""

    def __init__(self, ready: Ready, listener: Listener, deadline: float) -> None:
        self.prompt = ready.prompt
        self.state = ready.state
        self.before = ready.line
        self.before_turn = ready.line
        self._row = ready.row
        self._program = ready.state
        self._listener = listener
        self._deadline = deadline
        self._waiting_since: tuple[float, float] | None = None  # and the output that was the last then

    async def of(self, turn: Turn) -> Verdict:
        """What came of a turn, at the deadline at the latest."""
        listener, loop = self._listener, asyncio.get_running_loop()
        self.before_turn = self.before
        while True:
            left_s = self._deadline - loop.time()
            if left_s <= 0:
                return Verdict.TIMEOUT
            await listener.change(min(left_s, self._next_look_s(listener.silence_s)))
            if listener.ended is not None:
                return Verdict.EXITED
            if listener.silence_s >= _LOOKS_S[0] and (verdict := await self._judged(turn)):
                return verdict

    def _next_look_s(self, silence_s: float) -> float:
        if self._waiting_since is not None and self._waiting_since[1] == self._listener.last_output:
            waited_s = asyncio.get_running_loop().time() - self._waiting_since[0]
            if waited_s < _UNDERWAY_S:
                return _UNDERWAY_S - waited_s + 0.001
        return next((look_s for look_s in _LOOKS_S if look_s > silence_s), silence_s + _RARELY_S) - silence_s

    async def _judged(self, turn: Turn) -> Verdict | None:
        heard = self._listener.last_output
        state = await state_of(self._row)
        if self._listener.last_output != heard:
            return None
        silence_s = self._listener.silence_s
        self.state = state
        if self._is_gone():
            return Verdict.EXITED if state.waiting_for or silence_s >= _GONE_S else None
        if not self._has_waited(state, heard):
            return None
        turn.settle()
        return self._by_look(turn, state, silence_s)

    def _has_waited(self, state: State, heard: float) -> bool:
        if state.is_known and state.waiting_for is None:
            self._waiting_since = None
            return False
        now = asyncio.get_running_loop().time()
        if self._waiting_since is None or self._waiting_since[1] != heard:
            self._waiting_since = now, heard
        return now - self._waiting_since[0] >= _UNDERWAY_S

    def _by_look(self, turn: Turn, state: State, silence_s: float) -> Verdict | None:
        least_s = 0.0 if state.is_known else _BY_LOOK_S
        tail, prompt = turn.tail(), self.prompt
        line = _last_line(tail)
        may_be_edited = turn.is_past_echo or turn.is_pasting is not False
        is_open = bool(line) and not (turn.is_past_echo and tail.endswith("\n"))
        if may_be_edited and is_open and prompt.asks_for_more(line):
            self.before = line
            return Verdict.MORE if silence_s >= max(_MORE_S, least_s) else None
        if not turn.is_past_echo:
            return None
        if prompt.cut(tail) is not None:
            self.before = line
            wanted_s = _EMPTY_S if prompt.is_empty else _PROMPT_S
            return Verdict.PROMPT if silence_s >= max(wanted_s, least_s) else None
        if prompt.is_given:
            return None
        self.before = line
        return self._asking(line, state, silence_s) if is_open else None

    def _asking(self, line: str, state: State, silence_s: float) -> Verdict | None:
        """Something else than the prompt stands there and has not ended its line."""
        if self._is_new_prompt(line, state, silence_s):
            self.prompt = prompt_of(line, state.foreground_cmd)
            return None
        if not state.is_known:
            is_shell = state.is_remote and bool(FAR_SHELL.search(line))
            return Verdict.EXITED if is_shell and silence_s >= _BY_LOOK_S else None
        wanted_s = _PASSWORD_S if state.waiting_for == "password" else _ASKS_S
        return Verdict.ASKS if silence_s >= wanted_s else None

    def _is_new_prompt(self, line: str, state: State, silence_s: float) -> bool:
        """A question was answered and the program's own prompt is back, or a folder in it is another."""
        if self.prompt.kind.name != "unknown" or self.prompt.is_empty:
            return False
        sign = line.rstrip()[-1:]
        is_alike = sign in _SIGNS and sign == self.before_turn.rstrip()[-1:] and silence_s >= _BY_LOOK_S
        return is_known(line, state.foreground_cmd) or is_alike

    def _is_gone(self) -> bool:
        """The program that was spoken to, not what it has started meanwhile."""
        pid = self._program.foreground_pid
        if pid is None or self._program.is_remote:
            return False
        if self._row.far is not None:
            return self.state.waiting_for == "shell"
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass  # another user's, and there
        stat = asked(Kernel(), pid)
        return stat is not None and stat.is_gone


def _last_line(text: str) -> str:
    lines = [line for line in text.split("\n") if line.strip()]
    return lines[-1] if lines else ""
