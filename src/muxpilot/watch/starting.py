"""How a watch begins: from now on, or with a command that is typed at a shell's prompt.

`Begin` is the seam: whoever can start commands in a better way hands in another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from muxpilot.errors import Refused
from muxpilot.state import State
from muxpilot.tmux import Pane, PaneId, PaneStream, Tmux
from muxpilot.watch.echo import Echo
from muxpilot.watch.foreground import is_at_prompt, state_of
from muxpilot.watch.watch import Start

Begin = Callable[[Tmux, Pane, PaneStream], Awaitable[Start]]
Exclusive = Callable[[Tmux, PaneId], AbstractAsyncContextManager[None]]

# A shell that starts, or that is busy for a moment, is waited for.
_PATIENCE_S = 1.0
_NEW_PANE_S = 5.0
_NO_SHELL_S = 0.25
_LOOK_AGAIN_S = 0.02


async def from_now(tmux: Tmux, pane: Pane, stream: PaneStream) -> Start:
    await tmux.streams.catch_up(pane.id)
    return Start(stream.end)


def typing(command: str, exclusive: Exclusive, *, is_new: bool) -> Begin:
    """Type the command and its Enter; the watch begins before that, so that nothing of it is missed."""

    async def begin(tmux: Tmux, pane: Pane, stream: PaneStream) -> Start:
        async with exclusive(tmux, pane.id):
            before = await _prompt(pane, _NEW_PANE_S if is_new else _PATIENCE_S)
            _refuse_busy(pane, before, is_new=is_new)
            start = await from_now(tmux, pane, stream)
            await tmux.input.type(pane.id, command, enter=True)
        return Start(start.offset, before, Echo(command, is_at_prompt=is_at_prompt(before)))

    return begin


async def _prompt(pane: Pane, patience_s: float) -> State:
    """The state once a shell is at its prompt; or as it is, where waiting longer would not help."""
    now = asyncio.get_running_loop().time
    began = now()
    while True:
        state = await state_of(pane)
        waited_s = now() - began
        if state.waiting_for is not None or state.is_remote or waited_s >= patience_s:
            return state
        is_no_shell = state.foreground_pid == pane.pid and not state.is_shell
        if is_no_shell and waited_s >= _NO_SHELL_S:
            return state
        await asyncio.sleep(_LOOK_AGAIN_S)


def _refuse_busy(pane: Pane, state: State, *, is_new: bool) -> None:
    """What is not known to be a program is typed to: it may be a shell at the far end of something."""
    if is_at_prompt(state) or not state.is_known or is_new or pane.is_dead:
        return
    raise Refused(
        f"Pane {pane.id!r} is busy with {state.foreground_cmd!r}: no shell is at its prompt there.",
        "Use watch-pane to wait for it, another pane, or send-keys to type to it.",
    )
