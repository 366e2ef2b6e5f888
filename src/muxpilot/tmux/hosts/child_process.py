"""How a child process ends: the kernel kills it when we end (on Linux only), or we kill its group.

tmux lets a control client go once the client's last output was read. When muxpilot is killed, no process
reads that output: the client would stay forever, and so would its tmux server after `kill-server`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache

from muxpilot.records import record
from muxpilot.trace import area

_PR_SET_PDEATHSIG = 1
_PROBE_TIMEOUT_S = 2.0
_EXIT_TIMEOUT_S = 0.3
_trace = area("tmux")


@record
class DeathSignal:
    """How to start a child that the kernel kills when its parent ends.

    `argv_prefix` is a helper program to put before the child's command line. `preexec` is the alternative,
    a function that runs in the child before its program. It is slow: Python then copies our whole address
    space with fork, and all calls wait for that (20 ms and more).
    """

    argv_prefix: tuple[bytes, ...] = ()
    preexec: Callable[[], object] | None = None


NO_DEATH_SIGNAL = DeathSignal()


@cache
def die_with_parent() -> DeathSignal:
    """Return the fastest way that this system has to let a child end with us."""
    if sys.platform != "linux":
        return NO_DEATH_SIGNAL
    program = shutil.which("setpriv")
    prefix = (os.fsencode(program), b"--pdeathsig", b"KILL") if program is not None else ()
    if prefix and _can_set_death_signal(prefix):
        return DeathSignal(prefix)
    _trace.info("setpriv cannot set a death signal: starting child processes is slower")
    return DeathSignal(preexec=_prctl_call())


def _can_set_death_signal(prefix: tuple[bytes, ...]) -> bool:
    """Try the program: setpriv of busybox, and of util-linux before 2.33, lacks the option."""
    try:
        done = subprocess.run([*prefix, b"true"], capture_output=True, timeout=_PROBE_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _prctl_call() -> Callable[[], object]:
    """Return a call of prctl and nothing else: after a fork beside other threads no more is safe."""
    import ctypes  # takes some milliseconds, and few systems need it

    prctl = ctypes.PyDLL(None).prctl
    option, number = ctypes.c_int(_PR_SET_PDEATHSIG), ctypes.c_ulong(signal.SIGKILL)
    return lambda: prctl(option, number)


async def kill_group(process: asyncio.subprocess.Process) -> None:
    """Kill a process and all that it started, and wait shortly for its end.

    A child such as ssh's ProxyCommand may hold the pipes of the process open, and for asyncio a process ends
    with its pipes. The process must have been started in a session of its own.
    """
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _EXIT_TIMEOUT_S)


def close_pipes(process: asyncio.subprocess.Process) -> None:
    """Close our ends of a process's pipes, once it has ended and no more of its output is wanted.

    A tmux that is stopped holds the other ends, which its client has passed to it. asyncio would wait for
    them, and print a traceback when its loop ends first.
    """
    process._transport.close()  # type: ignore[attr-defined]  # asyncio has no other way
