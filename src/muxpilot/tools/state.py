"""What a pane is doing now."""

from __future__ import annotations

import asyncio
from typing import Literal

from muxpilot.processes.state import State, state_of
from muxpilot.records import record
from muxpilot.shells.shell_table import shell_of
from muxpilot.tmux import Pane, PaneId
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.spec import WORKFLOW, Effect, tool

_LOOKS, _LOOK_EVERY_S = 10, 0.01
_ALIKE = "in this shell the prompt and its own read look alike"


@record
class PaneState:
    """`note` says why something is not known, or not certain."""

    pane_id: str
    pane_pid: int
    foreground_pid: int | None
    foreground_cmd: str
    is_alive: bool
    waiting_for_input: bool | None
    waiting_for: Literal["line", "password", "key", "shell"] | None
    exit_code: int | None
    alternate_screen: bool
    current_path: str
    note: str | None = None

    @classmethod
    async def of(cls, row: Pane) -> PaneState:
        """A pane as it is at this moment; looked at beside the event loop, for a big group takes a while."""
        if row.is_dead:
            return cls._of(row, None, is_waiting=False)
        state = await _settled_state(row)
        return cls._of(row, state, is_waiting=state.waiting_for is not None if state.is_known else None)

    @classmethod
    def _of(cls, row: Pane, state: State | None, *, is_waiting: bool | None) -> PaneState:
        return cls(
            pane_id=row.id,
            pane_pid=row.pid,
            foreground_pid=state.foreground_pid if state else None,
            foreground_cmd=(state.foreground_cmd if state else "") or row.current_command,
            is_alive=not row.is_dead,
            waiting_for_input=is_waiting,
            waiting_for=state.waiting_for if state else None,
            exit_code=row.exit_code if row.is_dead else None,
            alternate_screen=row.is_alternate,
            current_path=row.current_path,
            note=_note(state) if state else None,
        )


async def _settled_state(row: Pane) -> State:
    """A shell that shows its prompt may not read yet, or still work beside it: a moment later it waits."""
    state = await state_of(row)
    for _ in range(_LOOKS):
        if state.waiting_for == "shell" or not _is_a_shell(row, state):
            break
        await asyncio.sleep(_LOOK_EVERY_S)
        state = await state_of(row)
    return state


def _is_a_shell(row: Pane, state: State) -> bool:
    is_its_own = row.pid in state.group and shell_of(row.current_command) is not None
    return state.is_known and (state.is_shell or is_its_own)


def _note(state: State) -> str | None:
    if not state.is_known:
        return state.evidence
    return _ALIKE if state.is_ambiguous else None


@tool(Effect.READ, WORKFLOW, "list")
async def pane_state(ctx: Context, pane_id: PaneId) -> PaneState:
    """Tell what runs in a pane, and whether it waits for input (null: not known)."""
    return await PaneState.of(await ctx.tmux.panes.get(pane_id))


TOOLS = (pane_state,)
