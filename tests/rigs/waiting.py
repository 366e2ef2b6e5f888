"""Waiting for conditions under a limit, and for tmux servers and processes to end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LIMIT_S = 20.0
# A check often starts a process: one that is made all the time takes the CPU from what is waited for.
FIRST_PAUSE_S = 0.005
LONGEST_PAUSE_S = 0.05


def server_pid(binary: str, socket: str) -> int | None:
    argv = [binary, "-u", "-N", "-S", socket, "display-message", "-p", "#{pid}"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=5, check=False)
    except subprocess.TimeoutExpired:
        return None
    return int(done.stdout) if done.stdout.strip().isdigit() else None


def end_server(binary: str, socket: str) -> None:
    """End the server on a socket, and wait for its end: `kill-server` returns before that."""
    pid = server_pid(binary, socket)
    if pid is None:
        return
    with suppress(subprocess.TimeoutExpired):
        subprocess.run([binary, "-S", socket, "kill-server"], capture_output=True, timeout=5, check=False)
    deadline = time.monotonic() + 5
    while is_running(pid):
        if time.monotonic() > deadline:
            send_signal(pid, signal.SIGKILL)
        time.sleep(0.005)


def send_signal(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended already."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def is_running(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def patient(limit_s: float) -> float:
    """Return a time limit, longer in proportion to the load of a busy machine."""
    return limit_s * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@contextmanager
def within(limit_s: float) -> Iterator[None]:
    """Assert that the block takes less than this long, or longer on a busy machine."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < patient(limit_s)


async def eventually(check: Callable[[], Awaitable[object]], *, limit_s: float = LIMIT_S) -> object:
    """Wait until a check returns something true, and return that."""
    deadline = time.monotonic() + limit_s
    pause_s = FIRST_PAUSE_S
    while True:
        value = await check()
        if value:
            return value
        assert time.monotonic() < deadline, f"still {value!r} after {limit_s:g} s"
        await asyncio.sleep(pause_s)
        pause_s = min(1.5 * pause_s, LONGEST_PAUSE_S)
