"""Keys that take back what was typed, and whether they do so in a pane: its terminal may be set otherwise."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import termios
from pathlib import Path

from muxpilot.tmux import Pane, PaneId, Tmux

FORGET = frozenset({"C-c", "\x03"})
CLEAR = frozenset({"C-u", "\x15"})
BACKSPACE = frozenset({"BSpace", "\x7f"})
CONTROL_H = frozenset({"C-h", "\x08"})
ERASE = BACKSPACE | CONTROL_H
TAKING_BACK = FORGET | CLEAR | ERASE

_FAR_INTERRUPT = re.compile(r"\bintr = \^C;")


async def working(tmux: Tmux, pane: PaneId) -> frozenset[str]:
    """Of these keys, those that do what they are known for.

    A full-screen program is believed: its keys are its own, and what stands there is no shell's line.
    """
    row = await tmux.panes.get(pane)
    if row.is_alternate:
        return TAKING_BACK
    if row.far is not None:
        return await _working_there(row)
    return await asyncio.to_thread(_working_here, row.tty, row.pid)


def _working_here(tty: str, pid: int) -> frozenset[str]:
    """None where the terminal cannot be seen."""
    try:
        terminal = os.open(tty, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return frozenset()
    try:
        _, _, _, modes, _, _, codes = termios.tcgetattr(terminal)
    except (OSError, termios.error):
        return frozenset()
    finally:
        os.close(terminal)
    found = set(_erasing(is_line=bool(modes & termios.ICANON), code=codes[termios.VERASE]))
    if modes & termios.ISIG and codes[termios.VINTR] == b"\x03" and not _ignores_interrupts(pid):
        found |= FORGET
    if codes[termios.VKILL] == b"\x15":
        found |= CLEAR
    return frozenset(found)


def _erasing(*, is_line: bool, code: bytes | int) -> frozenset[str]:
    """A line editor takes both keys; a terminal that gathers lines itself takes its own only."""
    if not is_line:
        return ERASE
    return {b"\x7f": BACKSPACE, b"\x08": CONTROL_H}.get(bytes(code) if code else b"", frozenset())


def _ignores_interrupts(pid: int) -> bool:
    """Whether the program in front of the pane's first one does (`trap '' INT`); only Linux tells."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        status = Path(f"/proc/{int(after_name[5])}/status").read_text()
    except (OSError, ValueError, IndexError):
        return False
    found = re.search(r"^SigIgn:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return found is not None and bool(int(found[1], 16) >> (signal.SIGINT - 1) & 1)


async def _working_there(row: Pane) -> frozenset[str]:
    if row.far is None or not re.fullmatch(r"/dev/[\w/]+", row.tty, re.ASCII):
        return frozenset()
    text = " ".join(await row.far(f"stty -a <{row.tty} 2>/dev/null"))
    words = set(text.replace(";", " ").split())
    found = FORGET if "isig" in words and _FAR_INTERRUPT.search(text) else frozenset()
    return found | (frozenset() if "icanon" in words else ERASE | CLEAR)
