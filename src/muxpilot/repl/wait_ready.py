"""Before anything is typed: a program waits in front of the pane, and it is no shell."""

from __future__ import annotations

import asyncio
import re

from muxpilot.errors import PaneDead, Refused
from muxpilot.processes.state import State, state_of
from muxpilot.records import record
from muxpilot.repl.prompt_table import Prompt, Search, is_known, prompt_of, typed_behind
from muxpilot.terminal.text import text_lines
from muxpilot.tmux import Pane, PaneId, PaneStream, Tmux

_LOOKED_AT = 4096
_PAUSE_S = 0.02
# A shell may be about to start the program; a prompt may be about to be drawn.
_SHELL_PATIENCE_S = 0.5
_KNOWN_S, _DRAWN_S, _BLANK_S = 0.02, 0.1, 0.3
# What tmux shows already may still be on its way to us.
_BEHIND_S = 0.5
# How a shell's prompt ends where only its look can tell.
FAR_SHELL = re.compile(r"[$#%]\s*\Z")


@record
class Ready:
    """A program that waits; `line` is what stands before the cursor."""

    row: Pane
    state: State
    line: str
    prompt: Prompt


async def readied(
    tmux: Tmux, pane: PaneId, stream: PaneStream, deadline: float, *, search: Search | None
) -> Ready:
    """Wait until a program waits in front of the pane; refuse what is no dialogue."""
    now = asyncio.get_running_loop().time
    began, changed, end = now(), now(), stream.end
    while True:
        row, state = await _in_front(tmux, pane)
        if stream.end != end:
            changed, end = now(), stream.end
        is_late = now() >= deadline
        if state.waiting_for == "shell":
            if is_late or now() >= began + _SHELL_PATIENCE_S:
                raise _no_repl(pane, f"{state.foreground_cmd} stands at its prompt")
        elif state.waiting_for is not None or not state.is_known:
            line = await tmux.capture.cursor_line(pane)
            is_behind = tmux.streams.is_ours(pane) and not _shows(stream, line)
            wanted_s = _BEHIND_S if is_behind else _silence_s(line, state)
            if is_late or now() - changed >= wanted_s:
                return _checked(
                    pane, Ready(row, state, line, prompt_of(line, state.foreground_cmd, search=search))
                )
        elif is_late:
            raise Refused(
                f"{state.foreground_cmd} in pane {pane} is busy; nothing was typed.",
                "Wait with watch-pane, or interrupt it with C-c.",
            )
        await asyncio.sleep(_PAUSE_S)


async def _in_front(tmux: Tmux, pane: PaneId) -> tuple[Pane, State]:
    row = await tmux.panes.get(pane)
    if row.is_dead:
        raise PaneDead(f"The program of pane {pane!r} has ended.")
    state = await state_of(row)
    if row.is_alternate:
        raise Refused(
            f"A full-screen program, {state.foreground_cmd}, runs in pane {pane}.",
            "Use send-keys and capture-pane.",
        )
    return row, state


def _shows(stream: PaneStream, line: str) -> bool:
    """Whether the end of a stream that we have from its beginning is what stands on the screen."""
    shown = [row for row in text_lines(stream.read(stream.end - _LOOKED_AT, stream.end)) if row.strip()]
    return not line.strip() or bool(shown and line.strip() in shown[-1])


def _silence_s(line: str, state: State) -> float:
    """How long nothing may have come until what stands there is the prompt."""
    if not line.strip() or not state.is_known:
        return _BLANK_S
    return _KNOWN_S if is_known(line, state.foreground_cmd) else _DRAWN_S


def _checked(pane: PaneId, ready: Ready) -> Ready:
    program = ready.state.foreground_cmd
    if ready.state.is_remote and not is_known(ready.line, program) and FAR_SHELL.search(ready.line):
        raise _no_repl(pane, f"a shell inside {program} stands at its prompt")
    if typed_behind(ready.line, program):
        raise Refused(
            f"Somebody has typed at the prompt in pane {pane}.",
            "Press C-u to remove it, or Enter to run it.",
        )
    return ready


def _no_repl(pane: PaneId, why: str) -> Refused:
    return Refused(f"No REPL runs in pane {pane}: {why}.", "Use execute-command, or start the REPL with it.")
