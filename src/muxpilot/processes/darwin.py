"""The state of a pane on macOS, by `ps` and the terminal's mode. Never run on a Mac: see docs/state.md."""

from __future__ import annotations

import subprocess

from muxpilot.processes.decide import ForegroundState, decide, unknown_state
from muxpilot.processes.ps_table import COLUMNS, WCHAN, has_process, split_rows, to_foreground_group
from muxpilot.processes.terminal_mode import read_terminal_mode

_LIMIT_S = 2.0


def read_darwin_state(pid: int, tty: str) -> ForegroundState:
    """Return the state of a pane by its process and its terminal's path."""
    try:
        rows = split_rows(_run_ps(tty))
    except (OSError, subprocess.SubprocessError):
        return unknown_state("ps failed")
    if not has_process(rows, pid):
        return unknown_state("its process has ended")
    return decide(to_foreground_group(rows), read_terminal_mode(tty))


def _run_ps(tty: str) -> list[str]:
    argv = ["/bin/ps", "-ww", *COLUMNS.format(wchan=WCHAN).split(), "-t", tty.removeprefix("/dev/")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    return done.stdout.splitlines()
