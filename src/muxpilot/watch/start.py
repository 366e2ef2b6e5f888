"""How a watch begins: from now on, or with a command that a pane's shell runs.

A command that its shell marks has a stream of its own: its output alone, which ends with its exit code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from muxpilot.errors import MuxpilotError, Refused
from muxpilot.processes.state import State, state_of
from muxpilot.shells.command import Command, Status
from muxpilot.shells.command_registry import Shells
from muxpilot.tmux import Pane, PaneStream, Tmux
from muxpilot.tmux.streams import Exit
from muxpilot.watch.foreground import is_at_prompt
from muxpilot.watch.watch import Start

Begin = Callable[[Tmux, Pane, PaneStream], Awaitable[Start]]

# What is busy for a moment is waited for, and longer a shell, which may still be starting.
_PATIENCE_S, _SHELL_S = 1.0, 5.0
_LOOK_AGAIN_S = 0.02
# Whoever reads the pane for its shells may be ahead of us by all that the pane's stream remembers.
_MEMORY_BYTES = 4 << 20
_FOR_EVER_S = 1e9
_A_PROMPT = "$ "


async def from_now(tmux: Tmux, pane: Pane, stream: PaneStream) -> Start:
    await tmux.streams.catch_up(pane.id)
    with suppress(MuxpilotError):  # it has gone: then its stream says so
        before = await tmux.capture.cursor_line(pane.id)
        return Start(stream.end, typed=lambda: tmux.input.typed(pane.id), before=before)
    return Start(stream.end)


def running(text: str, shells: Shells, *, is_new: bool) -> Begin:
    """Run a command in the pane's shell; the watch begins before that, so that nothing of it is missed."""

    async def begin(tmux: Tmux, pane: Pane, stream: PaneStream) -> Start:
        if not is_new:
            _refuse_busy(pane, await _prompt(pane))
        own = PaneStream(pane.id, memory_bytes=_MEMORY_BYTES)
        command = await shells.submit(tmux, pane.id, text)
        command.output.heard = own.feed
        following = asyncio.create_task(_follow(command, own))

        async def leave() -> None:
            following.cancel()
            command.output.heard = None
            shells.withdraw(command)

        return Start(
            0,
            own,
            leave,
            has_begun=lambda: command.status is not Status.QUEUED,
            # A shell that is still setting its terminal up echoes twice, with its prompt or without one.
            typed=lambda: (text,),
            before=_A_PROMPT,
            is_incomplete=lambda: _is_incomplete(command),
        )

    return begin


async def _follow(command: Command, own: PaneStream) -> None:
    """What becomes of the command is the end of its stream; one that is not complete never begins."""
    while not command.status.is_final and not _is_incomplete(command):
        known = command.changes
        await command.change(_FOR_EVER_S, since=known)
    if command.output.lost:
        own.gap("the pane's stream was interrupted", command.output.lost)
    own.finish(Exit(command.exit_code), command.reason or "the shell is back at its prompt")


def _is_incomplete(command: Command) -> bool:
    return not command.status.is_final and command.waiting_for == "rest"


async def _prompt(pane: Pane) -> State:
    """The state once a shell is at its prompt; or as it is, where waiting longer would not help."""
    now = asyncio.get_running_loop().time
    began = now()
    while True:
        state = await state_of(pane)
        patience_s = _SHELL_S if state.is_shell else _PATIENCE_S
        if state.waiting_for is not None or state.is_remote or now() - began >= patience_s:
            return state
        await asyncio.sleep(_LOOK_AGAIN_S)


def _refuse_busy(pane: Pane, state: State) -> None:
    """What is not known to be a program may be a shell at the far end of something: it is asked."""
    if is_at_prompt(state) or not state.is_known or pane.is_dead:
        return
    raise Refused(
        f"Pane {pane.id!r} is busy with {state.foreground_cmd!r}: no shell is at its prompt there.",
        "Use watch-pane to wait for it, another pane, or send-keys to type to it.",
    )
