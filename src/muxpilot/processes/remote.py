"""The state of a pane on another host: one line of sh runs `ps` and `stty` there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from muxpilot.processes.decide import ForegroundState, decide
from muxpilot.processes.ps_table import (
    COLUMNS,
    WCHAN,
    WCHAN_OF_PROCPS,
    has_process,
    split_rows,
    to_foreground_group,
)
from muxpilot.processes.terminal_mode import STTY_LINE, RunRemote, is_terminal_path, parse_stty
from muxpilot.shell_table import recognize_shell

# The columns of procps are tried first. The kernel function `wait_woken` is a read of a terminal or of a
# socket, so the line also asks which processes have a socket.
_ASK = (
    f"LC_ALL=C; export LC_ALL; ps -ww {COLUMNS.format(wchan=WCHAN_OF_PROCPS)} -t {{tty}} 2>/dev/null || "
    f"ps -ww {COLUMNS.format(wchan=WCHAN)} -t {{tty}} 2>/dev/null; "
    "for p in $(ps -o pid= -t {tty} 2>/dev/null); do "
    'case $(ls -l /proc/$p/fd 2>/dev/null) in *socket:*) echo "socket $p";; esac; done; '
    f"echo stty; {STTY_LINE}"
)


async def read_remote_state(run: RunRemote, pid: int, tty: str, command: str) -> ForegroundState:
    """Return the state of a pane; `command` is the foreground program's name in tmux, if `ps` has none."""
    if not is_terminal_path(tty):
        return _unknown_remote_state(command)
    return parse_remote_state(await run(_ASK.format(tty=tty)), pid, command)


def parse_remote_state(lines: Sequence[str], pid: int, command: str) -> ForegroundState:
    """Return the state that the lines describe: rows of `ps`, sockets, "stty" and what `stty` printed."""
    rows, modes = list(lines), ""
    if "stty" in rows:
        at = len(rows) - 1 - rows[::-1].index("stty")
        rows, modes = rows[:at], " ".join(rows[at + 1 :])
    sockets = frozenset(line.split()[1] for line in rows if re.fullmatch(r"socket \d+", line))
    table = split_rows(rows)
    if not has_process(table, pid):
        return _unknown_remote_state(command)
    return decide(to_foreground_group(table, with_sockets=sockets), parse_stty(modes))


def _unknown_remote_state(command: str) -> ForegroundState:
    """Return the state of a program that may be anything, a shell at its prompt too."""
    name = command.lstrip("-")
    return ForegroundState(
        None,
        is_known=False,
        foreground_pid=None,
        foreground_cmd=name,
        is_shell=recognize_shell([name], [name]) is not None,
        evidence="the pane is on another host, and ps does not list its process there",
        is_remote=True,
    )
