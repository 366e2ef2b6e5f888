"""A program in place of tmux that fails, hangs or dies at the n-th request, once it is armed.

One that hangs continues when it is disarmed, like a tmux that was stopped.

The program comes before the real tmux in PATH. For a control client it counts the lines, for any other client
the call itself. All other requests and replies pass unchanged between the caller and the real tmux.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

# Uses the standard library only. {real} and {folder} are filled in.
_SCRIPT = r"""#!{python} -IS
import fcntl, os, re, signal, subprocess, sys, threading, time

REAL, FOLDER = {real!r}, {folder!r}


def fault():
    '''Return the fault that is due now, or None. Each call counts as one request.'''
    try:
        with open(FOLDER + "/plan", "r+") as plan:
            fcntl.flock(plan, fcntl.LOCK_EX)
            kind, left = plan.read().split()
            plan.seek(0)
            plan.write(f"{{kind}} {{int(left) - 1:6d}}")  # as long as it was: it may be read meanwhile
            return kind if int(left) == 1 else None
    except OSError:
        return None


def harm(kind, child=None):
    if kind == "hang":
        while os.path.exists(FOLDER + "/plan"):  # until it is disarmed, as a tmux that was stopped goes on
            time.sleep(0.01)
        return
    if child is not None:
        child.kill()
    os.kill(os.getpid(), signal.SIGKILL)


def control():
    child = subprocess.Popen([REAL, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answers():
        while data := os.read(child.stdout.fileno(), 1 << 16):
            while data:
                data = data[os.write(1, data):]
        os._exit(child.wait() & 0xFF)

    threading.Thread(target=answers, daemon=True).start()
    rest = b""
    while data := os.read(0, 1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            is_guard = re.fullmatch(rb"display-message -p [0-9a-f]{{16}}", line)  # tmux never fails this one
            kind = None if is_guard else fault()
            if kind == "fail":
                line = b"no-such-command-of-tmux"
            elif kind is not None:
                harm(kind, child)
            child.stdin.write(line + b"\n")
            child.stdin.flush()
    child.stdin.close()
    child.wait()


kind = fault()
if kind is not None and kind != "fail":
    harm(kind)
if kind is not None:
    sys.exit("the shim fails")
if "-C" in sys.argv[1:]:
    control()
else:
    os.execv(REAL, [REAL, *sys.argv[1:]])
"""


class Shim:
    """The program and its plan: which fault comes at which request."""

    def __init__(self, folder: Path, real: str) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self._plan = self.bin / "plan"
        program = self.bin / "tmux"
        program.write_text(_SCRIPT.format(python=sys.executable, real=real, folder=str(self.bin)))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def arm(self, kind: str, at: int) -> None:
        self._plan.write_text(f"{kind} {at:6d}")

    def disarm(self) -> bool:
        """Remove the plan. Return whether the fault happened."""
        left = int(self._plan.read_text().split()[1])
        self._plan.unlink()
        return left < 1

    def processes(self) -> list[int]:
        """Return the pids of the shim that run."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    line = (entry / "cmdline").read_bytes()
                except OSError:
                    continue
                if os.fsencode(self.bin / "tmux") in line.split(b"\0")[:4]:
                    found.append(int(entry.name))
        return found
