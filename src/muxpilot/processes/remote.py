"""The same for a pane on another host: asked of `ps` and `stty` there, by one line of sh."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from os.path import basename

from muxpilot.processes.decide import REMOTE, State, decide
from muxpilot.processes.facts import Blocked, Program, Wait
from muxpilot.processes.shell_programs import family, takes_commands
from muxpilot.processes.tty import Mode

Run = Callable[[str], Awaitable[Sequence[str]]]

# First as procps has it, whose column for the kernel's function is too narrow otherwise, then as others do.
# `wait_woken` is a terminal's read and a socket's too: who has a socket is asked besides.
_COLUMNS = "-o pid= -o pgid= -o tpgid= -o stat= {wchan} -o args="
_ASK = (
    "LC_ALL=C; export LC_ALL; ps -ww " + _COLUMNS.format(wchan="-o wchan:32=") + " -t {tty} 2>/dev/null || "
    "ps -ww " + _COLUMNS.format(wchan="-o wchan=") + " -t {tty} 2>/dev/null; "
    "for p in $(ps -o pid= -t {tty} 2>/dev/null); do "
    'case $(ls -l /proc/$p/fd 2>/dev/null) in *socket:*) echo "socket $p";; esac; done; '
    "echo stty; stty -a <{tty} 2>/dev/null"
)
_READS = ("n_tty_read", "tty_read", "ttyin", "ttyread")
_READS_ALSO_SOCKETS = ("wait_woken",)
_POLLS = ("poll_", "do_poll", "do_sys_poll", "do_select", "core_sys_select", "ep_poll", "do_epoll")
_POLLS_THERE = ("select", "poll", "kqread")


async def look(run: Run, pid: int, tty: str, command: str) -> State:
    """`command` is what tmux calls the program in front, for where nothing else tells."""
    if not re.fullmatch(r"/dev/[\w/]+", tty, re.ASCII):
        return _unseen(command)
    return judged(await run(_ASK.format(tty=tty)), pid, command)


def judged(lines: Sequence[str], pid: int, command: str) -> State:
    rows, modes = list(lines), ""
    if "stty" in rows:
        at = len(rows) - 1 - rows[::-1].index("stty")
        rows, modes = rows[:at], " ".join(rows[at + 1 :])
    sockets = {line.split()[1] for line in rows if re.fullmatch(r"socket \d+", line)}
    table = [row for row in (line.split(None, 5) for line in rows) if len(row) == 6 and row[0].isdigit()]
    if str(pid) not in {row[0] for row in table}:
        return _unseen(command)
    front = [_program(row, has_socket=row[0] in sockets) for row in table if row[1] == row[2]]
    return decide(sorted(front, key=lambda program: not program.is_leader), _mode(modes))


def _unseen(command: str) -> State:
    """It may be anything, a shell at its prompt too: only its look can tell."""
    name = command.lstrip("-")
    return State(
        None,
        is_known=False,
        foreground_pid=None,
        foreground_cmd=name,
        is_shell=family([name], [name]) is not None,
        evidence="the pane is on another host, where ps does not tell",
        is_remote=True,
    )


def _program(row: Sequence[str], *, has_socket: bool) -> Program:
    pid, group, _, state, wchan, words = row
    argv = words.split()
    name = basename(argv[0]).lstrip("-")
    kind = family([name], argv)
    shell = kind if kind and takes_commands(kind, argv) else None
    letter = "S" if state[0] in "SIUD" else state[0]
    wait = _wait(letter, wchan, has_socket=has_socket and name not in REMOTE)
    return Program(int(pid), name, letter, pid == group, shell, Blocked(wait, by_name=True))


def _wait(letter: str, wchan: str, *, has_socket: bool) -> Wait:
    if letter != "S":
        return Wait.ELSEWHERE
    if wchan.startswith(_READS) or (wchan.startswith(_READS_ALSO_SOCKETS) and not has_socket):
        return Wait.READS
    if wchan.startswith(_READS_ALSO_SOCKETS):
        return Wait.MAY_READ
    if wchan.startswith(_POLLS) or wchan in _POLLS_THERE:
        return Wait.MAY_POLL
    return Wait.HIDDEN if wchan in ("-", "0", "?", "") else Wait.ELSEWHERE


def _mode(words: str) -> Mode | None:
    flags = set(re.findall(r"-?[a-z]+", words))
    if not flags & {"icanon", "-icanon"}:
        return None
    return Mode("icanon" in flags, "echo" in flags, "icrnl" in flags)
