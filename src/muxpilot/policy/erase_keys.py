"""Keys that delete typed text, and which of them work in a pane: its terminal settings decide."""

from __future__ import annotations

import asyncio

from muxpilot.processes.quick_checks import foreground_ignores_interrupts
from muxpilot.processes.terminal_mode import (
    TerminalMode,
    is_terminal_path,
    read_remote_terminal_mode,
    read_terminal_mode,
)
from muxpilot.tmux import Pane, PaneId, Tmux

INTERRUPT = frozenset({"C-c", "\x03"})
CLEAR_LINE = frozenset({"C-u", "\x15"})
BACKSPACE = frozenset({"BSpace", "\x7f"})
CONTROL_H = frozenset({"C-h", "\x08"})
ERASE = BACKSPACE | CONTROL_H
UNDO_KEYS = INTERRUPT | CLEAR_LINE | ERASE


async def find_working_keys(tmux: Tmux, pane: PaneId) -> frozenset[str]:
    """Return the keys of UNDO_KEYS that do in this pane what they usually do.

    For a full-screen program that is all of them: it reads keys itself, and no shell's line is on its screen.
    """
    row = await tmux.panes.get(pane)
    if row.is_alternate:
        return UNDO_KEYS
    if row.remote_shell is not None:
        return await _find_remote_keys(row)
    return await asyncio.to_thread(_find_local_keys, row.tty, row.pid)


def _find_local_keys(tty: str, pid: int) -> frozenset[str]:
    """Return the keys that work at a local terminal. Return none if its settings cannot be read."""
    mode = read_terminal_mode(tty)
    if mode is None:
        return frozenset()
    found = set(_erase_keys_for(mode))
    if mode.has_signals and mode.interrupt_key == b"\x03" and not foreground_ignores_interrupts(pid):
        found |= INTERRUPT
    if mode.kill_key == b"\x15":
        found |= CLEAR_LINE
    return frozenset(found)


def _erase_keys_for(mode: TerminalMode) -> frozenset[str]:
    """Return the keys that erase: a line editor accepts both, a terminal in canonical mode only its own."""
    if not mode.is_canonical:
        return ERASE
    return {b"\x7f": BACKSPACE, b"\x08": CONTROL_H}.get(mode.erase_key, frozenset())


async def _find_remote_keys(row: Pane) -> frozenset[str]:
    if row.remote_shell is None or not is_terminal_path(row.tty):
        return frozenset()
    mode = await read_remote_terminal_mode(row.remote_shell, row.tty)
    if mode is None:
        return ERASE | CLEAR_LINE
    found = INTERRUPT if mode.has_signals and mode.interrupt_key == b"\x03" else frozenset()
    return found | (frozenset() if mode.is_canonical else ERASE | CLEAR_LINE)
