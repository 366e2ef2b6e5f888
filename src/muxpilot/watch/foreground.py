"""What stands in front of a pane, and whether a command has ended there, by the system's word."""

from __future__ import annotations

import os
from contextlib import suppress

from muxpilot.errors import MuxpilotError
from muxpilot.processes.identity import answers
from muxpilot.processes.state import State, state_of
from muxpilot.tmux import Pane

# The state is asked for after so much silence, and again while nothing is printed, ever less often.
PAUSES_S = (0.15, 0.3, 0.6, 1.2, 2.0)
_MOST_PROCESSES = 64
_GLANCE_S = 0.02


def is_at_prompt(state: State) -> bool:
    return state.waiting_for == "shell"


class Foreground:
    """The state of one pane over time, asked for as rarely as can be."""

    def __init__(self, pane: Pane) -> None:
        self.state: State | None = None
        self._pane = pane
        self._home: int | None = None
        self._running: int | None = None
        self._signs: object = None
        self._glanced = 0.0
        self._has_line = False
        self._reaped: bytes | None = None

    def heard(self, data: bytes, now: float) -> None:
        """Output came: a glance at who is in front, or a command that never falls silent goes unseen."""
        self._has_line = self._has_line or b"\n" in data
        if self._pane.far is None and self._home is not None and now >= self._glanced + _GLANCE_S:
            self._glanced = now
            front = _front(self._pane.pid)
            if front is not None and front != self._home:
                self._running = front

    async def look(self) -> State | None:
        """The state, or None if nothing has stirred since the last one."""
        signs = _signs(self._pane.pid) if self._pane.far is None else None
        if self.state is not None and signs is not None and signs == self._signs:
            return None
        self._signs = signs
        try:
            self.state = await state_of(self._pane)
        except MuxpilotError:
            return None  # its host cannot be asked now
        if self._running is None and self.state.is_known:
            self._note(self.state)
        return self.state

    def _note(self, state: State) -> None:
        """What runs, as far as nothing is known of it yet."""
        if not is_at_prompt(state):
            self._running = state.foreground_pid
        elif self._home is None:
            self._home, self._reaped = state.foreground_pid, self._children_of(state.foreground_pid)
        elif self._has_line and self._children_of(self._home) != self._reaped:
            self._running = self._home  # too quick to be seen, but the shell has waited for a child

    def has_command_ended(self) -> bool:
        """At the prompt of the shell that was there before; what was in front meanwhile is gone."""
        state = self.state
        if state is None or self._running is None or not is_at_prompt(state):
            return False
        if self._home is not None and state.foreground_pid != self._home:
            return False  # another shell, inside the command
        if self._running == state.foreground_pid or self._pane.far is not None:
            return True
        return not answers(self._running)

    def _children_of(self, pid: int | None) -> bytes | None:
        return _reaped(pid) if self._pane.far is None else None


def _stat(pid: int) -> list[bytes]:
    """What follows a process's name in its stat line."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def _front(pid: int) -> int | None:
    """The process group in front of the terminal of this process."""
    with suppress(OSError, ValueError, IndexError):
        return int(_stat(pid)[5])
    return None


def _reaped(pid: int | None) -> bytes | None:
    """A count that grows with every child that a process has waited for."""
    with suppress(OSError, IndexError):
        return _stat(pid)[8] if pid is not None else None
    return None


def _signs(pid: int) -> object:
    """What changes whenever a process of the pane has run or another is in front; None: not known here."""
    with suppress(OSError, ValueError, IndexError):
        signs: list[bytes] = [_stat(pid)[5]]
        waiting = [pid]
        while waiting and len(signs) < _MOST_PROCESSES:
            process = waiting.pop()
            with suppress(FileNotFoundError, ProcessLookupError):
                signs.append(_read(f"/proc/{process}/schedstat"))
                waiting += map(int, _read(f"/proc/{process}/task/{process}/children").split())
        return signs
    return None


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, 1 << 16)
    finally:
        os.close(file)
