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


def server_pid(binary: str, socket: str) -> int | None:
    argv = [binary, "-u", "-N", "-S", socket, "display-message", "-p", "#{pid}"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=5, check=False)
    except subprocess.TimeoutExpired:
        return None
    return int(done.stdout) if done.stdout.strip().isdigit() else None


def end_server(binary: str, socket: str) -> None:
    """kill-server returns before the server is dead: wait for it."""
    pid = server_pid(binary, socket)
    if pid is None:
        return
    with suppress(subprocess.TimeoutExpired):
        subprocess.run([binary, "-S", socket, "kill-server"], capture_output=True, timeout=5, check=False)
    deadline = time.monotonic() + 5
    while is_running(pid):
        if time.monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def is_running(pid: int) -> bool:
    """A zombie that nobody has collected does not run any more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def patient(limit_s: float) -> float:
    """A limit for a machine that has the time, and longer where others keep it busy."""
    return limit_s * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@contextmanager
def within(limit_s: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < patient(limit_s)


async def eventually(check: Callable[[], Awaitable[object]], *, limit_s: float = LIMIT_S) -> object:
    """Wait until a condition holds, and answer what it answered."""
    deadline = time.monotonic() + limit_s
    while True:
        value = await check()
        if value:
            return value
        assert time.monotonic() < deadline, f"still {value!r} after {limit_s:g} s"
        await asyncio.sleep(0.005)
