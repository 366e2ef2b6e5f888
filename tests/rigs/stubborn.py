"""A program that starts processes which do not end with their terminal, and the pids of all of them.

    python stubborn.py FILE KIND …

Each kind is a word of: `plain`, `hup`, `term`, `all` (the signals that are ignored), with `+setsid`,
`+twice` (forks twice, so that its parent is gone), `+clean` (an empty environment), `+stopped`, `+forks`
(starts a new child again and again). The program itself waits; it ignores nothing.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

IGNORED = {
    "plain": (),
    "hup": (signal.SIGHUP,),
    "term": (signal.SIGTERM,),
    "all": (signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT),
}
KINDS = (
    "plain",
    "hup",
    "all",
    "plain+setsid",
    "all+setsid",
    "plain+setsid+twice",
    "hup+setsid+twice",
    "all+setsid+twice",
    "all+clean",
    "all+setsid+clean",
    "all+stopped",
    "all+forks",
    "all+setsid+twice+forks",
)


def behave(file: str, words: list[str]) -> None:
    """Become a process of one kind, and wait."""
    if "setsid" in words:
        os.setsid()
    if "twice" in words and os.fork():
        os._exit(0)
    for number in IGNORED[words[0]]:
        signal.signal(number, signal.SIG_IGN)
    with open(file, "a") as out:
        out.write(f"{os.getpid()} {'+'.join(words)}\n")
    if "clean" in words:
        os.execve("/bin/sleep", ["sleep", "600"], {})
    if "stopped" in words:
        os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        if "forks" in words and os.fork() == 0:
            time.sleep(0.3)
            os._exit(0)
        time.sleep(0.05 if "forks" in words else 600)


def main() -> None:
    file, *kinds = sys.argv[1:]
    for kind in kinds:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            behave(file, kind.split("+"))
    time.sleep(600)


def read_pids(path: Path) -> dict[str, int]:
    """Return the pid of each kind that has begun."""
    if not path.exists():
        return {}
    rows = [line.split() for line in path.read_text().splitlines()]
    return {row[1]: int(row[0]) for row in rows if len(row) == 2}


if __name__ == "__main__":
    main()
