"""The state of a pane for callers: what runs in it, and whether that waits for input."""

from __future__ import annotations

import asyncio

from muxpilot.processes.decide import WaitingFor
from muxpilot.processes.screen_programs import describe_screen_program
from muxpilot.processes.state import ForegroundState, read_state
from muxpilot.records import record
from muxpilot.shell_table import shell_with_marks
from muxpilot.timing import WatchTiming
from muxpilot.tmux import Pane

_AMBIGUOUS = "in this shell the prompt and its own read look alike"


@record
class PaneState:
    """The answer of pane-state.

    `note` says why something is unknown or uncertain, or how to leave a pager or an editor.
    """

    pane_id: str
    pane_pid: int
    foreground_pid: int | None
    foreground_cmd: str
    is_alive: bool
    waiting_for_input: bool | None
    waiting_for: WaitingFor | None
    exit_code: int | None
    alternate_screen: bool
    current_path: str
    note: str | None = None

    @classmethod
    async def read(cls, row: Pane, *, timing: WatchTiming | None = None) -> PaneState:
        """Read the state of a pane now."""
        if row.is_dead:
            return cls._build(row, None, is_waiting=False)
        state = await read_settled_state(row, timing or WatchTiming())
        return cls._build(row, state, is_waiting=state.waiting_for is not None if state.is_known else None)

    @classmethod
    def _build(cls, row: Pane, state: ForegroundState | None, *, is_waiting: bool | None) -> PaneState:
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


async def read_settled_state(row: Pane, timing: WatchTiming) -> ForegroundState:
    """Read the state again while a shell is about to wait: it may print its prompt before it reads."""
    state = await read_state(row)
    for _ in range(timing.settle_checks):
        if state.is_at_shell_prompt or not _is_shell(row, state):
            break
        await asyncio.sleep(timing.settle_check_s)
        state = await read_state(row)
    return state


def _is_shell(row: Pane, state: ForegroundState) -> bool:
    is_pane_shell = row.pid in state.group and shell_with_marks(row.current_command) is not None
    return state.is_known and (state.is_shell or is_pane_shell)


def _note(state: ForegroundState) -> str | None:
    if not state.is_known:
        return state.evidence
    if state.waiting_for in ("pager", "editor"):
        return describe_screen_program(state.foreground_cmd)
    return _AMBIGUOUS if state.is_ambiguous else None
