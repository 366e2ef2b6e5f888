"""Panes with stubborn processes that are to be ended, and processes beside them that must stay."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from muxpilot import PaneProgram, Tmux
from muxpilot.tmux import EnsuredSession
from tests.rigs import stubborn
from tests.rigs.engine import wait_until
from tests.rigs.waiting import LIMIT_S, end_server, is_running

_PROGRAM = Path(stubborn.__file__)


def stubborn_command(file: Path, kinds: Sequence[str] = stubborn.KINDS) -> str:
    """Return the command that starts one process of each kind and writes their pids into a file."""
    return f"exec {sys.executable} {_PROGRAM} {shlex.quote(str(file))} {' '.join(kinds)}"


async def wait_for_pids(file: Path, kinds: Sequence[str] = stubborn.KINDS) -> dict[str, int]:
    """Wait until a process of each kind has begun. Return their pids, in the order of the kinds."""
    await wait_until(lambda: len(stubborn.read_pids(file)) == len(kinds))
    pids = stubborn.read_pids(file)  # in the order in which the processes began
    return {kind: pids[kind] for kind in kinds}


async def open_stubborn(
    tmux: Tmux, folder: Path, name: str = "stubborn", kinds: Sequence[str] = stubborn.KINDS
) -> tuple[EnsuredSession, dict[str, int]]:
    """Open a session with a process of each kind. Return it and their pids."""
    file = folder / f"{name}.pids"
    made = await tmux.sessions.create(name, program=PaneProgram(stubborn_command(file, kinds)))
    return made, await wait_for_pids(file, kinds)


def left_of(pids: dict[str, int]) -> list[str]:
    """Return the kinds whose process still runs."""
    return [kind for kind, pid in pids.items() if is_running(pid)]


@contextmanager
def started_with(environment: dict[str, str], *argv: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program outside of tmux, in a session of its own, with variables as if it were in a pane."""
    process = subprocess.Popen(
        argv, env={**os.environ, **environment}, start_new_session=True, stdin=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(LIMIT_S)


@contextmanager
def inner_server(folder: Path) -> Iterator[str]:
    """Yield a command line that starts another tmux server with a session, and end that server afterwards."""
    socket = str(folder / "inner")
    binary = shutil.which("tmux") or "tmux"
    try:
        yield f"{binary} -S {socket} -f /dev/null new-session -d -s inner 'exec sleep 600'"
    finally:
        end_server(binary, socket)
