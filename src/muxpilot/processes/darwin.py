"""The same on macOS, by `ps` and the terminal's mode. Never run: see docs/state.md."""

from __future__ import annotations

import subprocess
from os.path import basename

from muxpilot.processes.decide import State, decide, unknown
from muxpilot.processes.facts import Blocked, Program, Wait
from muxpilot.processes.shell_programs import family, takes_commands
from muxpilot.processes.tty import mode_of

_LIMIT_S = 2.0
_COLUMNS = "pid=,pgid=,tpgid=,stat=,wchan=,args="
_READS = ("ttyin", "ttyread", "tty_read")
_POLLS = ("select", "poll", "kqread")


def look(pid: int, tty: str) -> State:
    try:
        rows = _rows(tty)
    except (OSError, subprocess.SubprocessError):
        return unknown("ps could not be asked")
    if str(pid) not in {row[0] for row in rows}:
        return unknown("its process has ended")
    group = [_program(row) for row in rows if row[1] == row[2]]
    return decide(sorted(group, key=lambda program: not program.is_leader), mode_of(tty))


def _rows(tty: str) -> list[list[str]]:
    argv = ["/bin/ps", "-ww", "-o", _COLUMNS, "-t", tty.removeprefix("/dev/")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    rows = [line.split(None, 5) for line in done.stdout.splitlines()]
    return [row for row in rows if len(row) == 6]


def _program(row: list[str]) -> Program:
    pid, group, _, state, wchan, words = row
    argv = words.split()
    name = basename(argv[0]).lstrip("-")
    kind = family([name], argv)
    shell = kind if kind and takes_commands(kind, argv) else None
    letter = "S" if state[0] in "SIU" else state[0]
    return Program(int(pid), name, letter, pid == group, shell, Blocked(_wait(letter, wchan), by_name=True))


def _wait(letter: str, wchan: str) -> Wait:
    if letter != "S":
        return Wait.ELSEWHERE
    if wchan in _READS:
        return Wait.READS
    if wchan in _POLLS:
        return Wait.MAY_POLL
    return Wait.HIDDEN if wchan in ("-", "") else Wait.ELSEWHERE
