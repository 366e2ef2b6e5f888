"""Waiting for a program in a real pane, before an input is typed."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import Refused
from muxpilot.processes.state import ForegroundState, read_state
from muxpilot.repl import wait_ready
from muxpilot.repl.wait_ready import ProgramWaiter
from muxpilot.timing import ReplTiming
from muxpilot.tmux import Pane, PaneId
from muxpilot.trace import area
from tests.rigs.engine import Raw, stream_of, wait_until
from tests.rigs.waiting import LIMIT_S

# Shows a full screen until a key is pressed, and then a prompt.
PROGRAM = r"""
import sys, tty
tty.setcbreak(0)
print("\x1b[?1049hpage", end="", flush=True)
sys.stdin.read(1)
print("\x1b[?1049l>>> ", end="", flush=True)
sys.stdin.read(1)
"""


async def open_program(tmux: Tmux, folder: Path) -> PaneId:
    (folder / "program.py").write_text(PROGRAM)
    made = await tmux.sessions.create("paged", program=PaneProgram(f"{sys.executable} {folder}/program.py"))
    await wait_until(lambda: b"page" in stream_of(tmux, made.pane_id).read(0, 1000))
    return made.pane_id


async def wait_for_prompt(tmux: Tmux, pane: PaneId, *, full_screen_end_s: float) -> str:
    waiter = ProgramWaiter(
        tmux,
        pane,
        stream_of(tmux, pane),
        asyncio.get_running_loop().time() + LIMIT_S,
        search=None,
        timing=replace(ReplTiming(), full_screen_end_s=full_screen_end_s),
        trace=area("repl"),
    )
    return (await waiter.wait_for_program()).line


async def test_a_full_screen_program_that_is_about_to_end_is_waited_for(
    tmux: Tmux, raw: Raw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key that ends a pager has just been pressed."""
    pane, has_looked = await open_program(tmux, tmp_path), asyncio.Event()

    async def note_look(row: Pane) -> ForegroundState:
        has_looked.set()
        return await read_state(row)

    monkeypatch.setattr(wait_ready, "read_state", note_look)
    waiting = asyncio.create_task(wait_for_prompt(tmux, pane, full_screen_end_s=LIMIT_S))
    await asyncio.wait_for(has_looked.wait(), LIMIT_S)
    raw("send-keys", "-t", pane, "q")
    assert (await asyncio.wait_for(waiting, LIMIT_S)).strip() == ">>>"


async def test_a_full_screen_program_that_stays_is_refused(tmux: Tmux, tmp_path: Path) -> None:
    pane = await open_program(tmux, tmp_path)
    with pytest.raises(Refused, match="full-screen program"):
        await wait_for_prompt(tmux, pane, full_screen_end_s=0.0)
