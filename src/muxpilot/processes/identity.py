"""Which process is which, for good: by its number, its start and the namespace that numbers it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from muxpilot.records import record


@record
class Process:
    """A process for good: its number is used again, together with its start time it is not."""

    pid: int
    start: int

    @property
    def is_there(self) -> bool:
        if not os.path.exists("/proc/self/stat"):
            return answers(self.pid)
        row = row_of(self.pid)
        return row is not None and row.start == self.start


@record
class Row:
    """A process as the kernel lists it."""

    pid: int
    parent: int
    session: int
    start: int


def ourselves() -> Process:
    row = row_of(os.getpid())
    return Process(os.getpid(), row.start if row is not None else 0)


def namespace() -> str:
    """Whose process numbers these are: the first namespace has one and the same name on every machine."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname().replace(" ", "_")[:60] or "here"


def row_of(pid: int) -> Row | None:
    """None for a process that is gone, or dead and only not collected yet."""
    try:
        rest = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if rest[0] in b"ZX" else Row(pid, int(rest[1]), int(rest[3]), int(rest[19]))


def answers(pid: int) -> bool:
    """Whether there is such a process, whoever's, or one that nobody has collected."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
