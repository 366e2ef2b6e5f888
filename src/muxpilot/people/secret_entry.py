"""Enter a secret into a pane, and only into the program that asked for it.

When the question is asked, the pane must hide what is typed there. When the answer comes, the same program
must still wait in the same way: a shell would run the secret as a command, and another program would show it.
"""

from __future__ import annotations

import asyncio

from muxpilot.errors import Refused
from muxpilot.people.open_question import EnterSecret
from muxpilot.processes.state import ForegroundState, read_state
from muxpilot.records import record
from muxpilot.terminal.prompt_signs import asks_for_secret
from muxpilot.timing import PeopleTiming
from muxpilot.tmux import PaneId, Tmux
from muxpilot.tmux.pane_locks import PaneLocks
from muxpilot.trace import area

_trace = area("people")


@record
class _AwaitedSecret:
    """The input that a pane waits for: the program, the mode of its terminal, and the text before the cursor.

    The text is compared only where the program is on another machine, and the mode says nothing.
    """

    pane_pid: int
    foreground_pid: int | None
    is_canonical: bool | None
    has_echo: bool | None
    text: str


async def prepare_entry(tmux: Tmux, pane: PaneId, locks: PaneLocks, timing: PeopleTiming) -> EnterSecret:
    """Return the function that enters a secret into a pane. Raise Refused if the pane cannot take one.

    A program that was just started is given a moment to print its prompt.
    """
    loop = asyncio.get_running_loop()
    give_up = loop.time() + timing.secret_prompt_s
    while True:
        problem, awaited = await _inspect(tmux, pane)
        if not problem:
            break
        if loop.time() >= give_up:
            hint = "Start the program that asks for the secret, and call this when its prompt is there."
            raise Refused(problem, hint)
        await asyncio.sleep(timing.secret_prompt_check_s)
    _trace.debug("pane waits for a secret", pane=pane, foreground_pid=awaited.foreground_pid)

    async def enter(secret: str) -> str:
        """Type the secret and Enter, or return why that is not done."""
        if not secret.isprintable():
            return "It has characters that cannot be typed."
        async with locks.hold_for_typing(tmux, pane, holder="secret"):
            found, now = await _inspect(tmux, pane)
            if found or now != awaited:
                _trace.debug("secret not entered", pane=pane, is_other=now != awaited)
                return f"Pane {pane} no longer waits for it, so nothing was typed."
            await tmux.input.type_secret(pane, secret)
        return ""

    return enter


async def _inspect(tmux: Tmux, pane: PaneId) -> tuple[str, _AwaitedSecret]:
    """Return why a pane cannot take a secret, or an empty text, and what it waits for."""
    row = await tmux.panes.get(pane)
    state = await read_state(row)
    line = await tmux.capture.text_before_cursor(pane) if not state.is_canonical else ""
    awaited = _AwaitedSecret(
        row.pid,
        state.foreground_pid,
        state.is_canonical,
        state.has_echo,
        line if state.is_remote else "",
    )
    if row.is_dead:
        return f"The program of pane {pane} has ended.", awaited
    if await tmux.panes.list_synchronized(pane) != [pane]:
        return f"Pane {pane} is synchronized with others, which would get the secret too.", awaited
    return _find_problem(pane, state, line), awaited


def _find_problem(pane: PaneId, state: ForegroundState, line: str) -> str:
    name = state.foreground_cmd or "the program"
    # The prompt of some shells looks like their builtin `read`, which may ask for a secret.
    if state.is_at_shell_prompt and not (state.is_ambiguous and asks_for_secret(line)):
        return f"In pane {pane} a shell is at its prompt, and would run the secret as a command."
    if state.waiting_for in ("pager", "editor"):
        return f"In pane {pane} {name} is in front, which does not ask for a secret."
    if state.is_canonical and state.has_echo:
        return f"Pane {pane} shows what is typed there: {name} does not ask for a secret now."
    if state.is_canonical is None and not asks_for_secret(line):
        return f"What {name} in pane {pane} waits for is not known."
    if state.is_remote and not state.is_canonical and not asks_for_secret(line):
        return f"In pane {pane} {name} does not show a prompt for a secret."
    return ""
