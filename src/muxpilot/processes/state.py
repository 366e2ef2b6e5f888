"""What the foreground program of a pane waits for: on Linux, on macOS, or on another host."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from muxpilot.processes.decide import ForegroundState
from muxpilot.processes.linux_state import read_linux_state
from muxpilot.processes.proc import PROC, ProcReader
from muxpilot.trace import area

__all__ = ["ForegroundState", "InspectedPane", "read_local_state", "read_state"]

_trace = area("processes")


class InspectedPane(Protocol):
    """A pane whose state can be read; `remote_shell` runs a line of sh on its host, if that is another."""

    @property
    def id(self) -> str: ...
    @property
    def server_pid(self) -> int: ...
    @property
    def pid(self) -> int: ...
    @property
    def tty(self) -> str: ...
    @property
    def current_command(self) -> str: ...
    @property
    def remote_shell(self) -> Callable[[str], Awaitable[list[str]]] | None: ...


async def read_state(pane: InspectedPane) -> ForegroundState:
    """Return what the foreground program of a pane is doing now.

    It is read in a thread: to read a process group of many threads takes some milliseconds.
    """
    started = time.perf_counter()
    if pane.remote_shell is None:
        state = await asyncio.to_thread(read_local_state, pane.pid, pane.tty)
    else:
        from muxpilot.processes.remote import read_remote_state

        state = await read_remote_state(pane.remote_shell, pane.pid, pane.tty, pane.current_command)
    if _trace.is_debug:
        _log_state(pane, state, time.perf_counter() - started)
    return state


def read_local_state(pid: int, tty: str, *, proc: ProcReader = PROC) -> ForegroundState:
    """Return the state of a pane by its process and its terminal's path. Reads a few files; never waits."""
    if sys.platform == "darwin":
        from muxpilot.processes.darwin import read_darwin_state

        return read_darwin_state(pid, tty)
    return read_linux_state(proc, pid, tty)


def _log_state(pane: InspectedPane, state: ForegroundState, seconds: float) -> None:
    _trace.debug(
        "state read",
        server_pid=pane.server_pid,
        pane=pane.id,
        waiting_for=state.waiting_for,
        is_known=state.is_known,
        evidence=state.evidence,
        foreground_pid=state.foreground_pid,
        command=state.foreground_cmd,
        is_shell=state.is_shell,
        is_ambiguous=state.is_ambiguous,
        is_remote=state.is_remote,
        canonical=state.is_canonical,
        echo=state.has_echo,
        group=len(state.group),
        ms=f"{seconds * 1000:.1f}",
    )
