"""Facts about the processes in the foreground of a terminal, before `decide` judges them."""

from __future__ import annotations

from enum import IntEnum

from muxpilot.records import record
from muxpilot.shell_table import ShellKind


class WaitKind(IntEnum):
    """The kinds of waits of a thread, ordered by how much it says: of several threads the highest counts."""

    ELSEWHERE = 0  # it runs, or waits for something that is not the terminal
    HIDDEN = 1  # the system does not say
    MAY_READ = 2  # it reads the terminal or a socket
    MAY_POLL = 3  # it polls or selects; which descriptors is hidden
    POLLS = 4  # it polls the terminal
    READS = 5  # it reads the terminal


@record
class BlockedOn:
    """The call that a thread is blocked in.

    `size` is the number of bytes that a read asks for, where that is known. `by_wchan` says that only the
    name of the kernel's function was visible, not the system call.
    """

    wait: WaitKind
    size: int | None = None
    by_wchan: bool = False


@record
class ForegroundProcess:
    """One process of the foreground group; `shell` is set if it is a shell that takes commands."""

    pid: int
    name: str
    state: str
    is_leader: bool
    shell: ShellKind | None
    blocked_on: BlockedOn

    @property
    def is_live(self) -> bool:
        return self.state not in "ZXTt"
