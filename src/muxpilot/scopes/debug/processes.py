"""The processes of a pane: found by a mark in their environment, and ended whatever they ignore.

A mark is inherited, so a process that left the terminal still has it. Who cleans the environment is
found as a member of a marked session leader's session, or as a child. Where there is no /proc, nothing is
found, and the end of the terminal has to do.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "MUXPILOT_DEBUG_PANE"

_PAUSE_S = 0.02
_GRACE_S = 0.3
_LIMIT_S = 0.6


@dataclass(frozen=True, slots=True)
class Process:
    """A process for good: its number is used again, together with its start time it is not."""

    pid: int
    start: int

    @property
    def is_there(self) -> bool:
        if not os.path.exists("/proc/self/stat"):
            return _answers(self.pid)
        row = _stat(self.pid)
        return row is not None and row.start == self.start

    def send(self, number: signal.Signals) -> None:
        if self.is_there:
            with suppress(OSError):
                os.kill(self.pid, number)


@dataclass(frozen=True, slots=True)
class _Row:
    pid: int
    parent: int
    session: int
    start: int


def ourselves() -> Process:
    row = _stat(os.getpid())
    return Process(os.getpid(), row.start if row is not None else 0)


def namespace() -> str:
    """Whose process numbers these are: the first namespace has one and the same name on every machine."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname().replace(" ", "_")[:60] or "here"


def marked(mark: str) -> set[Process]:
    """Every process of the panes whose mark begins so, but never ourselves or those above us."""
    rows = {row.pid: row for row in _rows()}
    found = {pid for pid in rows if _has(pid, mark)}
    leaders = {pid for pid in found if rows[pid].session == pid}
    while True:
        more = {row.pid for row in rows.values() if row.parent in found or row.session in leaders} - found
        if not more:
            break
        found |= more
    return {Process(pid, rows[pid].start) for pid in found - _above(rows)}


async def end(mark: str, known: set[Process]) -> None:
    """SIGTERM, some grace, then SIGKILL until nothing is left; all of it bounded."""
    for process in (remaining := known | await asyncio.to_thread(marked, mark)):
        process.send(signal.SIGTERM)
    began = time.monotonic()
    while remaining and time.monotonic() < began + _LIMIT_S:
        await asyncio.sleep(_PAUSE_S)
        remaining = {process for process in remaining if process.is_there}
        if not remaining or time.monotonic() > began + _GRACE_S:
            # What it started meanwhile has its mark too.
            remaining |= await asyncio.to_thread(marked, mark)
            for process in remaining:
                process.send(signal.SIGKILL)


def _above(rows: dict[int, _Row]) -> set[int]:
    found: set[int] = set()
    pid = os.getpid()
    while pid in rows and pid not in found:
        found.add(pid)
        pid = rows[pid].parent
    return found


def _rows() -> Iterator[_Row]:
    with suppress(OSError):
        for name in os.listdir("/proc"):
            row = _stat(int(name)) if name.isdigit() else None
            if row is not None:
                yield row


def _stat(pid: int) -> _Row | None:
    """None for a process that is gone, or dead and only not collected yet."""
    try:
        rest = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if rest[0] in b"ZX" else _Row(pid, int(rest[1]), int(rest[3]), int(rest[19]))


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _has(pid: int, mark: str) -> bool:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"\0{VARIABLE}={mark}".encode() in b"\0" + variables
