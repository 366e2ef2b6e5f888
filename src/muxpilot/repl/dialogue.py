"""Give one input to the foreground program of a pane, and return its whole answer.

A step is typed only while the program waits for it. It is done when the prompt is at the end of all output
and the program waits again. Text in the middle of output that looks like a prompt does not end a step.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress

from muxpilot.errors import BadInput, MuxpilotError
from muxpilot.processes.decide import WaitingFor
from muxpilot.processes.repl_prompts import FindPrompt, InputStyle
from muxpilot.processes.screen_programs import SCREEN_PROGRAMS
from muxpilot.processes.state import ForegroundState
from muxpilot.records import record
from muxpilot.repl.exchange import MOST_OUTPUT, Exchange, StreamListener
from muxpilot.repl.outcome import Outcome, OutcomeDetector
from muxpilot.repl.steps import InputMethod, InputStep, split_into_steps, validate_input
from muxpilot.repl.wait_ready import ProgramWaiter, ReadyProgram
from muxpilot.shells.command_output import CommandOutput
from muxpilot.shells.occupant import find_input_kind
from muxpilot.shells.pane_context import PaneTypingLock
from muxpilot.tasks import TaskSet
from muxpilot.timing import ReplTiming
from muxpilot.tmux import PaneId, Tmux
from muxpilot.trace import Trace, area

# A terminal in canonical mode cuts lines at 4 kB.
_LONGEST_LINE = 4000
# So many bytes of whole lines are typed at once.
_PIECE_BYTES = 1000
_KILL_LINE = b"\x15"
_QUOTED_TAB = "\x16\t"  # a bare tab would complete


@record
class ReplReply:
    """The answer of a program. `note` says what to do next, where that is not obvious.

    `waiting_for` is what the program, or the shell after it, waits for. `screen` is what is shown where keys
    are asked for. `offset` is the end of the answer in the pane's stream, and `exit_code` that of the pane's
    program if it has ended.
    """

    output: str
    offset: int
    exited: bool = False
    timed_out: bool = False
    waiting_for: WaitingFor | None = None
    note: str | None = None
    screen: str | None = None
    exit_code: int | None = None


async def run_dialogue(
    tmux: Tmux,
    pane: PaneId,
    text: str,
    *,
    search: FindPrompt | None,
    timeout_s: float,
    typing_lock: PaneTypingLock,
    timing: ReplTiming | None = None,
) -> ReplReply:
    """Give an input to the foreground program of a pane, and wait for all that it answers."""
    text = validate_input(text)
    timing = timing or ReplTiming()
    trace = area("repl").child(server=tmux.socket, pane=pane)
    deadline = asyncio.get_running_loop().time() + timeout_s
    async with tmux.streams.open(pane) as stream:
        waiter = ProgramWaiter(tmux, pane, stream, deadline, search=search, timing=timing, trace=trace)
        with trace.step("wait for program"):
            ready = await waiter.wait_for_program()
        await tmux.streams.catch_up(pane)
        listener = StreamListener(stream, is_whole=tmux.streams.is_own_pane(pane))
        tasks = TaskSet(trace)
        tasks.start(listener.follow(), name="read stream")
        detector = OutcomeDetector(ready, listener, deadline, timing=timing, trace=trace)
        dialogue = Dialogue(tmux, ready, listener, detector, typing_lock, timing=timing, trace=trace)
        try:
            return await dialogue.run(text)
        finally:
            dialogue.close()
            await tasks.close()


class Dialogue:
    """One input, step by step, and the answer so far."""

    def __init__(
        self,
        tmux: Tmux,
        ready: ReadyProgram,
        listener: StreamListener,
        detector: OutcomeDetector,
        typing_lock: PaneTypingLock,
        *,
        timing: ReplTiming,
        trace: Trace,
    ) -> None:
        self._tmux = tmux
        self._row = ready.row
        self._listener = listener
        self._detector = detector
        self._typing_lock = typing_lock
        self._timing = timing
        self._trace = trace
        self._answer = CommandOutput(ready.row.shape, 4 * MOST_OUTPUT)
        self._exchange: Exchange | None = None

    def close(self) -> None:
        self._answer.close()
        if self._exchange is not None:
            self._exchange.close()

    async def run(self, text: str) -> ReplReply:
        """Give the input to the program, as long as it takes it."""
        detector = self._detector
        goes_on = detector.prompt.asks_for_more(detector.line)
        steps = split_into_steps(detector.prompt.kind, text, goes_on=goes_on)
        self._trace.debug("input begins", kind=detector.prompt.kind.name, steps=len(steps), goes_on=goes_on)
        self._refuse_long_lines(steps)
        if goes_on:
            await self._clear_indent()
        outcome = Outcome.PROMPT
        while steps:
            step, *steps = steps
            outcome = await self._run_step(step)
            if outcome is Outcome.MORE and step.may_need_empty_line:
                outcome = await self._run_step(InputStep("", InputMethod.TYPING))
            if not self._takes_next_step(outcome):
                break
        self._trace.debug("input ends", outcome=outcome.name, untyped_steps=len(steps))
        return await self._reply(outcome, steps)

    def _takes_next_step(self, outcome: Outcome) -> bool:
        """Return whether the next step may be typed. A known program that asks wants something else."""
        detector = self._detector
        if outcome is Outcome.ASKS:
            takes_lines = detector.state.waiting_for not in ("password", "pager", "editor")
            return detector.prompt.kind.name == "unknown" and takes_lines
        return outcome in (Outcome.PROMPT, Outcome.MORE)

    def _refuse_long_lines(self, steps: Sequence[InputStep]) -> None:
        longest = max(len(line.encode()) for step in steps for line in step.text.split("\n"))
        if self._detector.state.is_canonical and longest > _LONGEST_LINE:
            raise BadInput(
                f"The argument 'input' has a line of {longest} bytes; this program's terminal takes "
                f"{_LONGEST_LINE}.",
                "Break it into shorter lines.",
            )

    async def _clear_indent(self) -> None:
        """Remove the blanks that an editor which indents by itself has put after the prompt."""
        line, style = self._detector.line, self._detector.prompt.kind.style
        is_indented = len(line) - len(line.rstrip()) > 1
        if style in (InputStyle.PYTHON, InputStyle.CELL) and is_indented:
            await self._tmux.input.send_bytes(self._row.id, _KILL_LINE)

    async def _run_step(self, step: InputStep) -> Outcome:
        if self._exchange is not None:
            self._exchange.close()
        state = self._detector.state
        exchange = self._exchange = Exchange(
            step,
            self._row.shape,
            before=self._detector.line,
            has_paste_mode=self._listener.has_paste_mode,
            echoes=not (state.is_canonical and state.has_echo is False),
        )
        self._listener.begin(exchange)
        async with self._typing_lock(self._tmux, self._row.id):
            await self._send(step, exchange)
        self._trace.debug("step typed", method=step.method.name, length=len(step.text))
        with self._trace.step("wait for outcome"):
            outcome = await self._detector.wait_for_outcome(exchange)
        self._add_answer(exchange, outcome)
        return outcome

    async def _send(self, step: InputStep, exchange: Exchange) -> None:
        pane, send = self._row.id, self._tmux.input
        if step.method is InputMethod.BYTES:
            await send.send_bytes(pane, step.text.encode("utf-8", "surrogateescape"))
        elif step.method is InputMethod.TYPING and "\t" not in step.text:
            await send.type(pane, step.text, enter=True)
        elif "\t" in step.text and self._quotes_tabs_of(step):
            quoted = step.text.replace("\t", _QUOTED_TAB)
            await send.send_bytes(pane, quoted.encode("utf-8", "surrogateescape") + b"\r")
        else:
            await self._paste(self._quote_tabs(step.text), exchange)

    def _quotes_tabs_of(self, step: InputStep) -> bool:
        """Return whether a line with tabs is typed, each tab quoted, where a paste may not be possible.

        In a pane that we did not make, the paste mode may be unknown. A quoted tab works in every mode.
        """
        mode, is_line = self._listener.has_paste_mode, "\n" not in step.text
        return not mode and (step.method is InputMethod.TYPING or (mode is None and is_line))

    async def _paste(self, text: str, exchange: Exchange) -> None:
        pane, send = self._row.id, self._tmux.input
        if self._listener.has_paste_mode is not False:
            await send.paste(pane, text, enter=True)
            return
        sent_lines = 0
        for piece in _split_into_pieces(f"{text}\r"):
            await self._wait_for_echo(exchange, sent_lines)
            await send.send_bytes(pane, piece.encode("utf-8", "surrogateescape"))
            sent_lines += piece.count("\n")

    async def _wait_for_echo(self, exchange: Exchange, lines: int) -> None:
        """Wait for the next prompt: the terminal echoes what is typed between two lines once more."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._timing.echo_s
        while not exchange.has_echoed(lines) and loop.time() < until and self._listener.ended is None:
            await self._listener.wait_for_change(until - loop.time())

    def _quote_tabs(self, text: str) -> str:
        """Quote tabs after the indentation, where a paste is typed: there they would complete."""
        if self._listener.has_paste_mode is not False or "\t" not in text:
            return text
        return re.sub(r"(?m)(?<=\S)(.*?)\t", lambda found: found[0].replace("\t", _QUOTED_TAB), text)

    def _add_answer(self, exchange: Exchange, outcome: Outcome) -> None:
        """Add the answer to this step to the answers to the steps before."""
        exchange.strip_echo()
        text = exchange.text()
        if outcome is Outcome.PROMPT:
            text = self._detector.prompt.without_prompt(text) or ""
        elif outcome is Outcome.MORE:
            text = _without_last_line(text) if exchange.is_past_echo else ""
        elif outcome is Outcome.EXITED and exchange.text_before_mark is not None:
            text = exchange.text_before_mark.removesuffix("\n")
        elif outcome is Outcome.EXITED:
            text = self._without_shell_prompt(text)
        else:
            text = text.removesuffix("\n")
        if text or outcome is Outcome.PROMPT:
            self._append(text)

    def _append(self, text: str) -> None:
        if self._answer.size and text:
            text = f"\n{text}"
        self._answer.feed(text.replace("\n", "\r\n").encode("utf-8", "replace"))

    def _without_shell_prompt(self, text: str) -> str:
        """Return the answer without the prompt of the shell that came back after the program."""
        prompt = self._listener.shell_prompt_after_exit()
        body = text.rstrip()
        if prompt and body.endswith(prompt):
            return body[: -len(prompt)].removesuffix("\n")
        state = self._detector.state
        is_shell = state.waiting_for == "shell" or state.is_remote
        if is_shell and self._listener.ended is None:
            return _without_last_line(text)
        return text.removesuffix("\n")

    async def _reply(self, outcome: Outcome, left: Sequence[InputStep]) -> ReplReply:
        notes = [note for note in (self._note(outcome), _unsent_note(left), self._gap_note()) if note]
        waiting_for, ended = self._find_waiting(outcome), self._listener.ended
        return ReplReply(
            output=self._answer.excerpt(MOST_OUTPUT)[0],
            offset=self._listener.offset,
            exited=outcome is Outcome.EXITED,
            timed_out=outcome is Outcome.TIMEOUT,
            waiting_for=waiting_for,
            note=" ".join(notes) if notes else None,
            screen=await self._read_screen() if waiting_for in ("key", "pager", "editor") else None,
            exit_code=ended.status if ended is not None else None,
        )

    def _find_waiting(self, outcome: Outcome) -> WaitingFor | None:
        """Return what is waited for now. A line editor at its prompt reads keys, but wants a line."""
        if outcome in (Outcome.PROMPT, Outcome.MORE):
            return "line"
        if outcome is Outcome.EXITED and self._listener.ended is not None:
            return None
        state = self._detector.state
        is_line = state.waiting_for == "key" and find_input_kind(state, self._detector.line) == "line"
        return "line" if is_line else state.waiting_for

    async def _read_screen(self) -> str | None:
        """Return the rows of the screen that are not blank."""
        with suppress(MuxpilotError):  # the pane is gone
            rows = await self._tmux.capture.rows_between(self._row.id, 0, "-")
            return "\n".join(row.rstrip() for row in rows if row.strip())
        return None

    def _note(self, outcome: Outcome) -> str | None:
        line = self._detector.line.strip()[-200:]
        if outcome is Outcome.MORE:
            return (
                f"The input is not complete: the program waits for the rest at {line!r}. "
                "Send the rest, or give it up with C-c."
            )
        if outcome is Outcome.ASKS:
            return self._note_question(self._detector.state, line)
        if outcome is Outcome.TIMEOUT:
            return (
                "The program is not back at its prompt; it keeps running. Wait with watch-pane, or press C-c."
            )
        return None

    def _note_question(self, state: ForegroundState, line: str) -> str:
        """Say what a program asks for, and how to answer."""
        program = SCREEN_PROGRAMS.get(state.foreground_cmd)
        if program is not None:
            return (
                f"The {program.kind} {state.foreground_cmd} is in front. Read on with send-keys, or leave it "
                f"with {program.leave_keys} (literal: false)."
            )
        if not line:
            return f"{state.foreground_cmd} waits for keys. Press them with send-keys."
        # Redaction takes what stands after "password:" for a secret.
        what = "a password at" if state.waiting_for == "password" else "input:"
        return f"The program waits for {what} {line!r}. Answer with run-in-repl or send-keys."

    def _gap_note(self) -> str | None:
        note = "A part of the output was not seen: the pane's stream was interrupted."
        return note if self._listener.has_gap else None


def _split_into_pieces(text: str) -> list[str]:
    """Return the text in pieces of whole lines that a terminal takes at once."""
    pieces = [""]
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if pieces[-1] and len((pieces[-1] + line).encode()) > _PIECE_BYTES:
            pieces.append("")
        pieces[-1] += line
    return pieces


def _unsent_note(steps: Sequence[InputStep]) -> str | None:
    if not steps:
        return None
    first = next((line for line in steps[0].text.split("\n") if line.strip()), "")
    return f"Not sent: the input from {first[:80]!r} on."


def _without_last_line(text: str) -> str:
    return text.rstrip().rpartition("\n")[0]
