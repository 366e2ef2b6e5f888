"""One input to the program in front of a pane, and its whole answer.

A step is typed only while the program waits for it, and is done when its prompt stands at the end of all
output and the program waits again: what merely looks like a prompt in the middle of output fools nobody.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from muxpilot.shells.output import Output
from muxpilot.shells.pane import Exclusive
from muxpilot.shells.repl.kinds import Prompt, Search, Style, is_known, prompt_of
from muxpilot.shells.repl.ready import Ready, readied, state_of
from muxpilot.shells.repl.steps import By, Step, checked, steps_of
from muxpilot.shells.repl.turns import MOST_OUTPUT, Listener, Turn
from muxpilot.state import State
from muxpilot.state.proc import Kernel, asked
from muxpilot.tmux import Pane, PaneId, Tmux

# The state is asked for after so much silence, and then again and again.
_LOOKS_S = (0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.65, 1.0)
_RARELY_S = 0.5
# How long it must be silent: where the system tells that it waits, and where only its look tells.
_PROMPT_S, _MORE_S, _EMPTY_S, _PASSWORD_S, _ASKS_S = 0.02, 0.05, 0.15, 0.15, 0.6
_BY_LOOK_S = 0.3
_GONE_S = 0.3
_FAR_SHELL = re.compile(r"[$#%]\s*\Z")


class Verdict(Enum):
    PROMPT = "it stands at its prompt"
    MORE = "it waits for the rest of the input"
    ASKS = "it asks for something"
    EXITED = "it has ended"
    TIMEOUT = "it is not done"


@dataclass(frozen=True, slots=True)
class Reply:
    """`note` tells what an agent should do next, where that is not plain."""

    output: str
    exited: bool = False
    timed_out: bool = False
    note: str | None = None


async def converse(
    tmux: Tmux, pane: PaneId, text: str, *, search: Search | None, timeout_s: float, exclusive: Exclusive
) -> Reply:
    """Give an input to the program in front of a pane, and wait for all that it says to it."""
    text = checked(text)
    deadline = asyncio.get_running_loop().time() + timeout_s
    async with tmux.streams.open(pane) as stream:
        ready = await readied(tmux, pane, stream, deadline, search=search)
        await tmux.streams.catch_up(pane)
        listener = Listener(stream, is_whole=tmux.streams.is_ours(pane))
        following = asyncio.ensure_future(listener.follow())
        dialogue = Dialogue(tmux, ready, listener, deadline, exclusive)
        try:
            return await dialogue.run(text)
        finally:
            dialogue.close()
            following.cancel()
            await asyncio.wait([following])


class Dialogue:
    def __init__(
        self, tmux: Tmux, ready: Ready, listener: Listener, deadline: float, exclusive: Exclusive
    ) -> None:
        self._tmux = tmux
        self._row: Pane = ready.row
        self._ready = ready
        self._prompt: Prompt = ready.prompt
        self._listener = listener
        self._deadline = deadline
        self._exclusive = exclusive
        self._said = Output(ready.row.height, 4 * MOST_OUTPUT)
        self._state = ready.state
        self._before = ready.line
        self._turn: Turn | None = None

    def close(self) -> None:
        self._said.close()
        if self._turn is not None:
            self._turn.close()

    async def run(self, text: str) -> Reply:
        goes_on = self._prompt.asks_for_more(self._before)
        steps = steps_of(self._prompt.kind, text, goes_on=goes_on)
        if goes_on:
            await self._clear_indent()
        verdict = Verdict.PROMPT
        while steps:
            step, *steps = steps
            verdict = await self._take(step)
            if verdict is Verdict.MORE and step.may_close:
                verdict = await self._take(Step("", By.TYPING))
            if not self._goes_on_after(verdict):
                break
        return self._reply(verdict, steps)

    def _goes_on_after(self, verdict: Verdict) -> bool:
        """A program that we know asks for something else than the next step."""
        if verdict is Verdict.ASKS:
            return self._prompt.kind.name == "unknown" and self._state.waiting_for != "password"
        return verdict in (Verdict.PROMPT, Verdict.MORE)

    async def _clear_indent(self) -> None:
        """An editor that indents by itself has put blanks behind the prompt."""
        is_indented = len(self._before) - len(self._before.rstrip()) > 1
        if self._prompt.kind.style in (Style.PYTHON, Style.CELL) and is_indented:
            await self._tmux.input.send_bytes(self._row.id, b"\x15")

    async def _take(self, step: Step) -> Verdict:
        if self._turn is not None:
            self._turn.close()
        state = self._state
        turn = self._turn = Turn(
            step,
            self._row.height,
            before=self._before,
            is_pasting=self._listener.is_pasting,
            echoes=not (state.is_canonical and state.has_echo is False),
        )
        self._listener.turn = turn
        self._listener.last_output = asyncio.get_running_loop().time()
        async with self._exclusive(self._tmux, self._row.id):
            await self._send(step)
        verdict = await self._verdict(turn)
        self._keep(turn, verdict)
        return verdict

    async def _send(self, step: Step) -> None:
        pane, send = self._row.id, self._tmux.input
        if step.by is By.BYTES:
            await send.send_bytes(pane, step.text.encode("utf-8", "surrogateescape"))
        elif step.by is By.TYPING and "\t" not in step.text:
            await send.type(pane, step.text, enter=True)
        elif step.by is By.TYPING and self._listener.is_pasting is False:
            quoted = step.text.replace("\t", "\x16\t")  # or it would complete
            await send.send_bytes(pane, quoted.encode("utf-8", "surrogateescape") + b"\r")
        else:
            await send.paste(pane, self._with_tabs_quoted(step.text), enter=True)

    def _with_tabs_quoted(self, text: str) -> str:
        """Those behind the indentation, where a paste is typed: there they would complete."""
        if self._listener.is_pasting is not False or "\t" not in text:
            return text
        return re.sub(r"(?m)(?<=\S)(.*?)\t", lambda found: found[0].replace("\t", "\x16\t"), text)

    async def _verdict(self, turn: Turn) -> Verdict:
        listener, loop = self._listener, asyncio.get_running_loop()
        while True:
            left_s = self._deadline - loop.time()
            if left_s <= 0:
                return Verdict.TIMEOUT
            silence_s = listener.silence_s
            next_look_s = next((look_s for look_s in _LOOKS_S if look_s > silence_s), silence_s + _RARELY_S)
            await listener.change(min(left_s, next_look_s - silence_s))
            if listener.ended is not None:
                return Verdict.EXITED
            if listener.silence_s >= _LOOKS_S[0] and (verdict := await self._judged(turn)):
                return verdict

    async def _judged(self, turn: Turn) -> Verdict | None:
        heard = self._listener.last_output
        state = await state_of(self._row)
        if self._listener.last_output != heard:
            return None
        silence_s = self._listener.silence_s
        self._state = state
        if self._is_gone():
            return Verdict.EXITED if state.waiting_for or silence_s >= _GONE_S else None
        if state.is_known and state.waiting_for is None:
            return None
        turn.settle()
        return self._by_look(turn, state, silence_s)

    def _by_look(self, turn: Turn, state: State, silence_s: float) -> Verdict | None:
        least_s = 0.0 if state.is_known else _BY_LOOK_S
        tail, prompt = turn.tail(), self._prompt
        line = _last_line(tail)
        may_be_edited = turn.is_past_echo or turn.is_pasting is not False
        if may_be_edited and prompt.asks_for_more(line):
            self._before = line
            return Verdict.MORE if silence_s >= max(_MORE_S, least_s) else None
        if not turn.is_past_echo:
            return None
        if prompt.cut(tail) is not None:
            self._before = line
            wanted_s = _EMPTY_S if prompt.is_empty else _PROMPT_S
            return Verdict.PROMPT if silence_s >= max(wanted_s, least_s) else None
        if prompt.is_given:
            return None
        self._before = line
        if prompt.kind.name == "unknown" and is_known(line, state.foreground_cmd):
            self._prompt = prompt_of(line, state.foreground_cmd)  # a question has been answered
            return None
        return self._asking(tail, line, state, silence_s)

    def _asking(self, tail: str, line: str, state: State, silence_s: float) -> Verdict | None:
        """Something else than the prompt stands there and has not ended its line."""
        if not state.is_known:
            is_shell = state.is_remote and bool(_FAR_SHELL.search(line)) and not tail.endswith("\n")
            return Verdict.EXITED if is_shell and silence_s >= _BY_LOOK_S else None
        if state.waiting_for == "password" and silence_s >= _PASSWORD_S:
            return Verdict.ASKS
        is_open = bool(line.strip()) and not tail.endswith("\n")
        return Verdict.ASKS if is_open and silence_s >= _ASKS_S else None

    def _is_gone(self) -> bool:
        """The program that was spoken to, not what it has started meanwhile."""
        pid = self._ready.state.foreground_pid
        if pid is None or self._ready.state.is_remote:
            return False
        with suppress(OSError):
            os.kill(pid, 0)
            stat = asked(Kernel(), pid) if os.path.isdir("/proc/self") else None
            return stat is not None and stat.is_gone
        return True

    def _keep(self, turn: Turn, verdict: Verdict) -> None:
        """What it said to this step, behind what it said to those before."""
        text = turn.text()
        if verdict is Verdict.PROMPT:
            text = self._prompt.cut(text) or ""
        elif verdict is Verdict.MORE:
            text = _without_last_line(text) if turn.is_past_echo else ""
        elif verdict is Verdict.EXITED:
            text = self._without_shell(text)
        if text or verdict is Verdict.PROMPT:
            self._add(text)

    def _add(self, text: str) -> None:
        if self._said.size and text:
            text = f"\n{text}"
        self._said.feed(text.replace("\n", "\r\n").encode("utf-8", "replace"))

    def _without_shell(self, text: str) -> str:
        """The prompt of the shell that came back is not the program's."""
        shown = self._listener.shells_prompt()
        body = text.rstrip()
        if shown and body.endswith(shown):
            return body[: -len(shown)].removesuffix("\n")
        is_shell = self._state.waiting_for == "shell" or self._state.is_remote
        if is_shell and self._listener.ended is None:
            return _without_last_line(text)
        return text.removesuffix("\n")

    def _reply(self, verdict: Verdict, left: Sequence[Step]) -> Reply:
        output = self._said.excerpt(MOST_OUTPUT)[0]
        notes = [note for note in (self._note(verdict), _unsent(left), self._gap()) if note]
        return Reply(
            output, verdict is Verdict.EXITED, verdict is Verdict.TIMEOUT, " ".join(notes) if notes else None
        )

    def _note(self, verdict: Verdict) -> str | None:
        asked = self._before.strip()[-200:]
        if verdict is Verdict.MORE:
            return (
                f"The input is not complete: it waits for the rest at {asked!r}. "
                "Send the rest, or give it up with C-c."
            )
        if verdict is Verdict.ASKS:
            what = "a password" if self._state.waiting_for == "password" else "input"
            return f"It waits for {what}: {asked!r}. Answer with run-in-repl or send-keys."
        if verdict is Verdict.TIMEOUT:
            return "It has not come back to its prompt; it goes on. Wait with watch-pane, or press C-c."
        return None

    def _gap(self) -> str | None:
        missed = "A part of the output was not seen: the pane's stream was interrupted."
        return missed if self._listener.has_gap else None


def _unsent(steps: Sequence[Step]) -> str | None:
    if not steps:
        return None
    first = next((line for line in steps[0].text.split("\n") if line.strip()), "")
    return f"Not sent: the input from {first[:80]!r} on."


def _last_line(text: str) -> str:
    lines = [line for line in text.split("\n") if line.strip()]
    return lines[-1] if lines else ""


def _without_last_line(text: str) -> str:
    return text.rstrip().rpartition("\n")[0]
