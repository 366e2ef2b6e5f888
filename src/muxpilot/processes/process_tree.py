"""The process tree of panes: every process that was started in them, also those that left the terminal.

A process belongs to a pane if one of these holds:

- it is the program of the pane, or a descendant of a process that belongs to it,
- it is in the session of such a program, or in one that a process of the tree has opened. (A controlling
  terminal belongs to one session only, so all processes of the pane's terminal are among these.)
- its environment has the mark of the pane. Children inherit it, so a process that forked twice and called
  setsid still has it.

The tree never contains this process, its ancestors, the tmux server, or services that serve more than the
pane (`shared_services`) with all that they started.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from muxpilot.processes.identity import ProcessIdentity
from muxpilot.processes.proc import PROC, ProcessStat, find_stat
from muxpilot.processes.shared_services import is_shared_service
from muxpilot.records import record

_INIT = 1

Stats = Mapping[int, ProcessStat]


@record
class EnvironmentMark:
    """Beginnings of variables (`NAME=value`) that are all in the environment of a marked process."""

    variables: tuple[bytes, ...]

    @classmethod
    def of_pane(cls, pane: str, socket: str, server_pid: int) -> EnvironmentMark:
        """Return the mark that tmux gives to all programs of a pane. No other pane has it, past ones too."""
        return cls((f"TMUX_PANE={pane}\0".encode(), os.fsencode(f"TMUX={socket},{server_pid},")))

    def is_in(self, environment: bytes) -> bool:
        padded = b"\0" + environment + b"\0"
        return all(b"\0" + variable in padded for variable in self.variables)


@record
class PaneProgramProcess:
    """The program of a pane, as tmux knows it."""

    pid: int
    server_pid: int

    def find(self, stats: Stats) -> ProcessStat | None:
        """Return the process, or None if it has ended, or if its pid means another one here.

        In another pid namespace than ours, tmux's pids are those of other processes.
        """
        stat, server = stats.get(self.pid), stats.get(self.server_pid)
        if stat is None or server is None or not server.name.startswith("tmux"):
            return None
        is_child = stat.parent == self.server_pid and stat.start_time >= server.start_time
        return stat if is_child else None


class ProcessTree:
    """The processes of some panes. It remembers what it has found, because parents end before children.

    `started_before` limits what is found by its mark alone to processes that are older: a pane that was
    respawned gives the same mark to its new program.
    """

    def __init__(self, marks: Iterable[EnvironmentMark], programs: Iterable[PaneProgramProcess] = ()) -> None:
        self._marks = tuple(marks)
        self._programs = tuple(programs)
        self._servers = {program.server_pid for program in self._programs}
        self._known: set[ProcessIdentity] = set()
        self._sessions: set[int] = set()
        self._terminal_sessions: set[int] = set()
        self._unmarked: set[ProcessIdentity] = set()
        self.started_before: int | None = None

    def read(self) -> set[ProcessIdentity]:
        """Return all processes of the tree that run now. Read all of /proc."""
        stats = {stat.pid: stat for stat in _running_processes()}
        known = {each.pid for each in self._known if _is_same(stats, each)}
        marked = {pid for pid in stats if self._is_marked(stats[pid])}
        spared = self._find_spared(stats, marked)
        sessions = {sid for sid in self._sessions if any(stats[pid].session == sid for pid in known)}
        found = _add_related(stats, (known | marked | self._find_programs(stats)) - spared, spared, sessions)
        leaders = {pid for pid in found if stats[pid].session == pid}
        self._sessions |= leaders
        self._terminal_sessions |= {pid for pid in leaders if stats[pid].tty != 0}
        identities = {ProcessIdentity(pid, stats[pid].start_time) for pid in found}
        self._known |= identities
        return identities

    def list_running(self) -> set[ProcessIdentity]:
        """Return those of the known processes that still run. Read only their files."""
        return {each for each in self._known if each.is_running}

    def gets_hangup(self, process: ProcessIdentity) -> bool:
        """Return whether a process is in the session of a terminal, which gets SIGHUP when that is closed."""
        stat = find_stat(PROC, process.pid)
        return stat is not None and stat.session in self._terminal_sessions

    def _find_programs(self, stats: Stats) -> set[int]:
        """Return the programs of the panes, the first time. Later they are known, or have ended."""
        programs, self._programs = self._programs, ()
        found = [stat for program in programs if (stat := program.find(stats)) is not None]
        return {stat.pid for stat in found}

    def _find_spared(self, stats: Stats, marked: set[int]) -> set[int]:
        """Return what is in no tree: we, init, tmux servers, shared services and what those started."""
        services = {pid for pid in marked if is_shared_service(stats[pid])}
        return _add_descendants(stats, services) | self._servers | _ancestors(stats) | {_INIT}

    def _is_marked(self, stat: ProcessStat) -> bool:
        if self.started_before is not None and stat.start_time >= self.started_before:
            return False
        identity = ProcessIdentity(stat.pid, stat.start_time)
        if identity in self._unmarked:
            return False
        try:
            environment = PROC.environment(stat.pid)
        except OSError:
            return False  # of another user, or gone
        if any(mark.is_in(environment) for mark in self._marks):
            return True
        if environment:  # it is empty for a moment when a process starts another program
            self._unmarked.add(identity)
        return False


def _add_related(stats: Stats, found: set[int], spared: set[int], sessions: set[int]) -> set[int]:
    """Return the processes with their descendants, and with the members of the sessions that they lead."""
    found = set(found)
    while True:
        sessions = sessions | {pid for pid in found if stats[pid].session == pid}
        near = [stat for stat in stats.values() if stat.parent in found or stat.session in sessions]
        more = {stat.pid for stat in near if not is_shared_service(stat)} - found - spared
        if not more:
            return found
        found |= more


def _add_descendants(stats: Stats, found: set[int]) -> set[int]:
    """Return the processes with all their descendants."""
    while more := {stat.pid for stat in stats.values() if stat.parent in found} - found:
        found = found | more
    return found


def _ancestors(stats: Stats) -> set[int]:
    """Return our own pid and those of our ancestors."""
    found: set[int] = set()
    pid = os.getpid()
    while pid in stats and pid not in found:
        found.add(pid)
        pid = stats[pid].parent
    return found


def _is_same(stats: Stats, process: ProcessIdentity) -> bool:
    stat = stats.get(process.pid)
    return stat is not None and stat.start_time == process.start_time


def _running_processes() -> Iterator[ProcessStat]:
    with suppress(OSError):
        for pid in PROC.all_pids():
            stat = find_stat(PROC, pid)
            if stat is not None and not stat.is_gone:
                yield stat
