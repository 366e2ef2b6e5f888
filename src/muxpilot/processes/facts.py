"""What was found out about the programs in front, before it is judged."""

from __future__ import annotations

from enum import IntEnum

from muxpilot.records import record


class Wait(IntEnum):
    """What a program waits for, ordered by how much it says: of several threads the highest counts."""

    ELSEWHERE = 0  # it runs, or waits for something that is not the terminal
    HIDDEN = 1  # the system does not tell
    MAY_READ = 2  # it reads the terminal or a socket
    MAY_POLL = 3  # it polls or selects, and what is hidden
    POLLS = 4
    READS = 5


@record
class Blocked:
    """`size`: how many bytes a read asks for, where that is known. `by_name`: told by wchan only."""

    wait: Wait
    size: int | None = None
    by_name: bool = False


@record
class Program:
    """One process of the foreground group; `shell` is its kind if it is a shell that takes commands."""

    pid: int
    name: str
    state: str
    is_leader: bool
    shell: str | None
    blocked: Blocked

    @property
    def is_live(self) -> bool:
        return self.state not in "ZXTt"
