"""One input to the program in front of a pane, and its whole answer.

A step is typed only while the program waits for it, and is done when its prompt stands at the end of all
output and the program waits again: what merely looks like a prompt in the middle of output fools nobody.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.repl.exchange import MOST_OUTPUT, Listener, Turn
from muxpilot.repl.outcome import Verdict, Verdicts
from muxpilot.repl.prompt_table import Search, Style
from muxpilot.repl.steps import By, Step, checked, steps_of
from muxpilot.repl.wait_ready import Ready, readied
from muxpilot.shells.command_output import Output
from muxpilot.shells.pane_shell import Exclusive
from muxpilot.tmux import Pane, PaneId, Tmux

# A terminal that gathers lines itself cuts them at 4 kB.
_LONGEST_LINE = 4000
_PIECE_BYTES = 1000
_ECHO_S = 2.0


@record
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
        self._seen = Verdicts(ready, listener, deadline)
        self._listener = listener
        self._exclusive = exclusive
        self._said = Output(ready.row.height, 4 * MOST_OUTPUT)
        self._turn: Turn | None = None

    def close(self) -> None:
        self._said.close()
        if self._turn is not None:
            self._turn.close()

    async def run(self, text: str) -> Reply:
        goes_on = self._seen.prompt.asks_for_more(self._seen.before)
        steps = steps_of(self._seen.prompt.kind, text, goes_on=goes_on)
        self._refuse_long(steps)
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
            return self._seen.prompt.kind.name == "unknown" and self._seen.state.waiting_for != "password"
        return verdict in (Verdict.PROMPT, Verdict.MORE)

    def _refuse_long(self, steps: Sequence[Step]) -> None:
        longest = max(len(line.encode()) for step in steps for line in step.text.split("\n"))
        if self._seen.state.is_canonical and longest > _LONGEST_LINE:
            raise BadInput(
                f"The argument 'input' has a line of {longest} bytes; this program's terminal takes "
                f"{_LONGEST_LINE}.",
                "Break it into shorter lines.",
            )

    async def _clear_indent(self) -> None:
        """An editor that indents by itself has put blanks behind the prompt."""
        is_indented = len(self._seen.before) - len(self._seen.before.rstrip()) > 1
        if self._seen.prompt.kind.style in (Style.PYTHON, Style.CELL) and is_indented:
            await self._tmux.input.send_bytes(self._row.id, b"\x15")

    async def _take(self, step: Step) -> Verdict:
        if self._turn is not None:
            self._turn.close()
        state = self._seen.state
        turn = self._turn = Turn(
            step,
            self._row.height,
            before=self._seen.before,
            is_pasting=self._listener.is_pasting,
            echoes=not (state.is_canonical and state.has_echo is False),
        )
        self._listener.begin(turn)
        async with self._exclusive(self._tmux, self._row.id):
            await self._send(step, turn)
        verdict = await self._seen.of(turn)
        self._keep(turn, verdict)
        return verdict

    async def _send(self, step: Step, turn: Turn) -> None:
        pane, send = self._row.id, self._tmux.input
        if step.by is By.BYTES:
            await send.send_bytes(pane, step.text.encode("utf-8", "surrogateescape"))
        elif step.by is By.TYPING and "\t" not in step.text:
            await send.type(pane, step.text, enter=True)
        elif step.by is By.TYPING and self._listener.is_pasting is False:
            quoted = step.text.replace("\t", "\x16\t")  # or it would complete
            await send.send_bytes(pane, quoted.encode("utf-8", "surrogateescape") + b"\r")
        else:
            await self._paste(self._with_tabs_quoted(step.text), turn)

    async def _paste(self, text: str, turn: Turn) -> None:
        pane, send = self._row.id, self._tmux.input
        if self._listener.is_pasting is not False:
            await send.paste(pane, text, enter=True)
            return
        sent = 0
        for piece in _pieces(f"{text}\r"):
            await self._echoed(turn, sent)
            await send.send_bytes(pane, piece.encode("utf-8", "surrogateescape"))
            sent += piece.count("\n")

    async def _echoed(self, turn: Turn, newlines: int) -> None:
        """Until the next prompt has come: the terminal echoes what is typed between two lines once more."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _ECHO_S
        while not turn.has_echoed(newlines) and loop.time() < until and self._listener.ended is None:
            await self._listener.change(until - loop.time())

    def _with_tabs_quoted(self, text: str) -> str:
        """Those behind the indentation, where a paste is typed: there they would complete."""
        if self._listener.is_pasting is not False or "\t" not in text:
            return text
        return re.sub(r"(?m)(?<=\S)(.*?)\t", lambda found: found[0].replace("\t", "\x16\t"), text)

    def _keep(self, turn: Turn, verdict: Verdict) -> None:
        """What it said to this step, behind what it said to those before."""
        turn.settle()
        text = turn.text()
        if verdict is Verdict.PROMPT:
            text = self._seen.prompt.cut(text) or ""
        elif verdict is Verdict.MORE:
            text = _without_last_line(text) if turn.is_past_echo else ""
        elif verdict is Verdict.EXITED:
            text = self._without_shell(text)
        else:
            text = text.removesuffix("\n")
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
        is_shell = self._seen.state.waiting_for == "shell" or self._seen.state.is_remote
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
        asked = self._seen.before.strip()[-200:]
        if verdict is Verdict.MORE:
            return (
                f"The input is not complete: it waits for the rest at {asked!r}. "
                "Send the rest, or give it up with C-c."
            )
        if verdict is Verdict.ASKS:
            what = "a password" if self._seen.state.waiting_for == "password" else "input"
            return f"It waits for {what}: {asked!r}. Answer with run-in-repl or send-keys."
        if verdict is Verdict.TIMEOUT:
            return "It has not come back to its prompt; it goes on. Wait with watch-pane, or press C-c."
        return None

    def _gap(self) -> str | None:
        missed = "A part of the output was not seen: the pane's stream was interrupted."
        return missed if self._listener.has_gap else None


def _pieces(text: str) -> list[str]:
    """Whole lines, so many that a terminal takes them at once."""
    pieces = [""]
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if pieces[-1] and len((pieces[-1] + line).encode()) > _PIECE_BYTES:
            pieces.append("")
        pieces[-1] += line
    return pieces


def _unsent(steps: Sequence[Step]) -> str | None:
    if not steps:
        return None
    first = next((line for line in steps[0].text.split("\n") if line.strip()), "")
    return f"Not sent: the input from {first[:80]!r} on."


def _without_last_line(text: str) -> str:
    return text.rstrip().rpartition("\n")[0]
