"""Lines of `ps`, as facts for `decide`: all that macOS and other hosts say about processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os.path import basename

from muxpilot.processes.decide import REMOTE_PROGRAMS
from muxpilot.processes.facts import BlockedOn, ForegroundProcess, WaitKind
from muxpilot.shell_table import recognize_shell, takes_commands

# One `-o` for each column: after "=" BSD's ps takes the rest of the word as the header.
COLUMNS = "-o pid= -o pgid= -o tpgid= -o stat= {wchan} -o args="
WCHAN = "-o wchan="
WCHAN_OF_PROCPS = "-o wchan:32="  # its column is too narrow otherwise

# Names of kernel functions, by their beginnings: those of Linux, then those of BSD and macOS.
_READS = ("n_tty_read", "tty_read", "ttyin", "ttyread")
_READS_TTY_OR_SOCKET = ("wait_woken",)
_POLLS = ("poll_", "do_poll", "do_sys_poll", "do_select", "core_sys_select", "ep_poll", "do_epoll")
_BSD_POLLS = ("select", "poll", "kqread")
_HIDDEN = ("-", "0", "?", "")
# Letters of ps for a process that sleeps: S and D of Linux and BSD, I and U of BSD and macOS.
_ASLEEP = "SIUD"


def split_rows(lines: Iterable[str]) -> list[list[str]]:
    """Return the columns of each line that is a row of the table."""
    rows = (line.split(None, 5) for line in lines)
    return [row for row in rows if len(row) == 6 and row[0].isdigit()]


def has_process(rows: Sequence[Sequence[str]], pid: int) -> bool:
    return str(pid) in {row[0] for row in rows}


def to_foreground_group(
    rows: Sequence[Sequence[str]], *, with_sockets: frozenset[str] = frozenset()
) -> list[ForegroundProcess]:
    """Return the foreground processes, their leader first; `with_sockets` are pids with an open socket."""
    group = [_to_process(row, has_socket=row[0] in with_sockets) for row in rows if row[1] == row[2]]
    return sorted(group, key=lambda process: not process.is_leader)


def _to_process(row: Sequence[str], *, has_socket: bool) -> ForegroundProcess:
    pid, group, _, state, wchan, command = row
    argv = command.split()
    name = basename(argv[0]).lstrip("-")
    kind = recognize_shell([name], argv)
    shell = kind if kind and takes_commands(kind, argv) else None
    letter = "S" if state[0] in _ASLEEP else state[0]
    wait = _find_wait(letter, wchan, has_socket=has_socket and name not in REMOTE_PROGRAMS)
    return ForegroundProcess(int(pid), name, letter, pid == group, shell, BlockedOn(wait, by_wchan=True))


def _find_wait(letter: str, wchan: str, *, has_socket: bool) -> WaitKind:
    if letter != "S":
        return WaitKind.ELSEWHERE
    if wchan.startswith(_READS) or (wchan.startswith(_READS_TTY_OR_SOCKET) and not has_socket):
        return WaitKind.READS
    if wchan.startswith(_READS_TTY_OR_SOCKET):
        return WaitKind.MAY_READ
    if wchan.startswith(_POLLS) or wchan in _BSD_POLLS:
        return WaitKind.MAY_POLL
    return WaitKind.HIDDEN if wchan in _HIDDEN else WaitKind.ELSEWHERE
