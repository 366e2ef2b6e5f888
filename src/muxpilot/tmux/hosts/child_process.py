"""How a child process ends: by the kernel when we end, however that happens (on Linux only), or by us.

tmux lets a control client go once its last output was taken. When we are killed nobody takes it: the client
would stay for good, and so would its tmux server after `kill-server`.
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

_PR_SET_PDEATHSIG = 1
_PROBE_S = 2.0
_END_S = 0.3


@record
class Leash:
    """What stands before the child's command line, or else what the child does before it is that program.

    With the latter Python copies our whole address space first, and all calls wait for it: 20 ms and more.
    """

    words: tuple[bytes, ...] = ()
    before: Callable[[], object] | None = None


LOOSE = Leash()


@cache
def leash() -> Leash:
    if sys.platform != "linux":
        return LOOSE
    program = shutil.which("setpriv")
    words = (os.fsencode(program), b"--pdeathsig", b"KILL") if program is not None else ()
    return Leash(words) if words and _works(words) else Leash(before=_prctl())


def _works(words: tuple[bytes, ...]) -> bool:
    """That of busybox, and of util-linux before 2.33, cannot do it."""
    try:
        done = subprocess.run([*words, b"true"], capture_output=True, timeout=_PROBE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _prctl() -> Callable[[], object]:
    """Nothing else is safe to do there beside other threads."""
    import ctypes  # few milliseconds that nobody else should pay

    prctl = ctypes.PyDLL(None).prctl
    number, sign = ctypes.c_int(_PR_SET_PDEATHSIG), ctypes.c_ulong(signal.SIGKILL)
    return lambda: prctl(number, sign)


async def end(process: asyncio.subprocess.Process) -> None:
    """With all that it started, such as ssh's ProxyCommand: that may hold its pipes open, and to asyncio a
    process ends with its pipes. It must have been started in a session of its own."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _END_S)
