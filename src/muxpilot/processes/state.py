"""Whether the program in front of a pane waits for a person, and for what: by the system's word."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Protocol

from muxpilot.processes.decide import State, decide, unknown
from muxpilot.processes.facts import Program, Wait
from muxpilot.processes.foreground_group import detached, members, programs
from muxpilot.processes.proc import Kernel, Stat, Terminal, asked, terminal_path
from muxpilot.processes.tty import Mode, mode_of

__all__ = ["State", "image_of", "is_in_front", "look", "state_of"]


class Pane(Protocol):
    """Whose state can be asked for; `far` runs a line of sh on its host where that is another."""

    @property
    def pid(self) -> int: ...
    @property
    def tty(self) -> str: ...
    @property
    def current_command(self) -> str: ...
    @property
    def far(self) -> Callable[[str], Awaitable[list[str]]] | None: ...


async def state_of(pane: Pane) -> State:
    """Beside the event loop: a group of many threads takes some milliseconds."""
    if pane.far is None:
        return await asyncio.to_thread(look, pane.pid, pane.tty)
    from muxpilot.processes import remote

    return await remote.look(pane.far, pane.pid, pane.tty, pane.current_command)


# They give what they start a terminal of its own, poll ours in raw mode meanwhile, and pass everything on.
_RELAYS = frozenset("script scriptlive sudo su doas runuser apt apt-get unbuffer expect setpriv".split())
_DEEPEST = 3
_LOOKS = 3

_KERNEL = Kernel()


def look(pid: int, tty: str, *, kernel: Kernel = _KERNEL) -> State:
    """The state of a pane by its process and its terminal's path: a few file reads, nothing waits."""
    if sys.platform == "darwin":
        from muxpilot.processes import darwin

        return darwin.look(pid, tty)
    return _look(kernel, pid, tty, _DEEPEST)


def is_in_front(pid: int, pane_pid: int, *, kernel: Kernel = _KERNEL) -> bool | None:
    """Whether a process has the pane's terminal to itself; None if the system does not tell. Very quick."""
    root, process = asked(kernel, pane_pid), asked(kernel, pid)
    if root is None or process is None or process.tty != root.tty:
        return None
    return root.front == process.group


def image_of(pid: int, *, kernel: Kernel = _KERNEL) -> int | None:
    """A number that changes when a process becomes another program; None if the system does not tell."""
    process = asked(kernel, pid)
    return process.image if process is not None and process.image else None


def _look(kernel: Kernel, pid: int, tty: str, depth: int) -> State:
    root = asked(kernel, pid)
    if root is None or root.is_gone:
        return unknown("its process has ended")
    if root.front <= 0:
        return unknown("its process has no terminal")
    state = decide(*_of_one_moment(kernel, root, tty))
    if depth and state.foreground_cmd in _RELAYS and state.waiting_for == "key":
        inner = _beyond(kernel, state, root)
        path = terminal_path(inner.tty) if inner else None
        if inner is not None and path is not None:
            return _look(kernel, inner.pid, path, depth - 1)
    return state


def _of_one_moment(kernel: Kernel, root: Stat, tty: str) -> tuple[list[Program], Mode | None]:
    """A shell that takes its line would look like its own `read`: at its prompt before, a mode later."""
    terminal, mode = Terminal.of(tty, root.tty), mode_of(tty)
    for _ in range(_LOOKS):
        before, front = mode, _in_front(kernel, root, terminal)
        mode = mode_of(tty)
        if mode == before:
            break
    return front, mode


def _in_front(kernel: Kernel, root: Stat, terminal: Terminal) -> list[Program]:
    group = members(kernel, root)
    front = programs(kernel, group, terminal)
    if any(program.blocked.wait >= Wait.POLLS for program in front):
        return front
    others = programs(kernel, detached(kernel, group), terminal)
    return front + [program for program in others if program.blocked.wait >= Wait.POLLS]


def _beyond(kernel: Kernel, state: State, root: Stat) -> Stat | None:
    """The process that a relay has put on a terminal of its own."""
    for pid in state.group:
        try:
            children = kernel.children(pid)
        except OSError:
            continue
        for child in children:
            stat = asked(kernel, child)
            if stat is not None and stat.tty not in (0, root.tty):
                return stat
    return None
