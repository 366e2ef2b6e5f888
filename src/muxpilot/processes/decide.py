"""From facts to an answer; nothing here asks the system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from muxpilot.processes.facts import Program, Wait
from muxpilot.processes.tty import Mode
from muxpilot.records import record

Kind = Literal["line", "password", "key", "shell"]

# What these show is decided elsewhere, and a terminal in raw mode that they poll says nothing of it.
REMOTE = frozenset(
    "ssh slogin autossh mosh mosh-client telnet rlogin docker podman nerdctl kubectl oc lxc incus machinectl "
    "tmux screen zellij dtach abduco minicom picocom cu tio et vagrant gcloud aws".split()
)

# Shells whose line editor is not used for what `read` reads, so that a gathered line is for `read` alone.
_EDITING = frozenset("bash zsh fish ash ksh mksh lksh oksh pdksh tcsh nu elvish yash".split())
# … and those whose `read` looks just like their prompt.
_ALIKE = frozenset("fish ksh".split())
_BASH_LINE = 1024  # bash without its editor asks for this much at its prompt, and for another in `read`


@record
class State:
    """What the program in front of a pane is doing.

    `waiting_for` is None if it does not wait, or if that is not known. `is_shell`: it is a shell that takes
    commands. `is_ambiguous`: a shell waits, and its prompt cannot be told from its own `read`.
    `is_remote`: what is shown is decided by a program elsewhere.
    """

    waiting_for: Kind | None
    is_known: bool
    foreground_pid: int | None
    foreground_cmd: str
    is_shell: bool
    evidence: str
    is_ambiguous: bool = False
    is_remote: bool = False
    is_canonical: bool | None = None
    has_echo: bool | None = None
    group: tuple[int, ...] = ()


def unknown(why: str) -> State:
    return State(None, is_known=False, foreground_pid=None, foreground_cmd="", is_shell=False, evidence=why)


def decide(programs: Sequence[Program], mode: Mode | None) -> State:
    """Judge the programs of the foreground group, its leader first."""
    if not programs:
        return unknown("no program in front was found")
    front = max(programs, key=lambda program: (program.is_live, _weight(program), program.is_leader))
    is_remote = front.name in REMOTE
    kind, is_known, evidence = _judge(front, mode, is_remote=is_remote)
    return State(
        kind,
        is_known,
        front.pid,
        front.name,
        front.shell is not None,
        evidence,
        is_ambiguous=kind == "shell" and _is_ambiguous(front, mode),
        is_remote=is_remote,
        is_canonical=mode.is_canonical if mode else None,
        has_echo=mode.has_echo if mode else None,
        group=tuple(program.pid for program in programs),
    )


def _weight(program: Program) -> int:
    """Who reads the terminal matters; who may read it matters more than who surely does not."""
    return int(program.blocked.wait) if program.is_live else -1


Judgement = tuple[Kind | None, bool, str]


def _judge(front: Program, mode: Mode | None, *, is_remote: bool) -> Judgement:
    wait = front.blocked.wait
    if not front.is_live:
        return None, True, "stopped" if front.state in "Tt" else "ended"
    if is_remote and _is_passed_on(wait, mode):
        return None, False, f"{front.name} is in front: what happens on its far side is not visible"
    if wait is Wait.ELSEWHERE:
        return None, True, "runs, or waits for something else"
    if wait is Wait.READS:
        return _kind(front, mode), True, _reading(front, "blocked in read on the terminal")
    if wait is Wait.POLLS:
        return _kind(front, mode), True, _reading(front, "polls the terminal")
    return _guess(front, mode)


def _is_passed_on(wait: Wait, mode: Mode | None) -> bool:
    """What is typed goes to the far side; but a password, and what is read at once, is asked for on this."""
    if mode is not None and (not mode.is_canonical or not mode.has_echo):
        return not mode.is_canonical
    return wait not in (Wait.ELSEWHERE, Wait.READS)


def _reading(front: Program, words: str) -> str:
    return f"{words}, by its wchan" if front.blocked.by_name else words


def _guess(front: Program, mode: Mode | None) -> Judgement:
    """The kernel hides what it waits for: only the terminal's mode can tell."""
    if mode is not None and front.state == "S":
        if _is_raw(mode):
            return _kind(front, mode), True, "sleeps, and the terminal is raw"
        if not mode.has_echo:
            return "password", True, "sleeps, and the terminal's echo is off"
    if front.blocked.wait is Wait.HIDDEN:
        return None, False, "the system does not tell what it waits for"
    return None, False, "waits for a descriptor; the system does not tell which"


def _is_raw(mode: Mode | None) -> bool:
    return mode is not None and not mode.is_canonical


def _kind(front: Program, mode: Mode | None) -> Kind:
    if mode is None:
        return "shell" if front.shell else "line"
    if mode.is_canonical:
        if not mode.has_echo:
            return "password"
        return "shell" if _is_plain_prompt(front) else "line"
    # A line editor echoes by itself; bash's also takes Enter as it comes, its `read -n` does not.
    if front.shell is None or mode.has_echo or (front.shell == "bash" and mode.maps_return):
        return "key"
    return "shell"


def _is_plain_prompt(front: Program) -> bool:
    """A shell without a line editor asks for many bytes at its prompt, and for one at a time in `read`."""
    size = front.blocked.size
    if front.shell == "bash":
        return size == _BASH_LINE
    return front.shell is not None and front.shell not in _EDITING and size != 1


def _is_ambiguous(front: Program, mode: Mode | None) -> bool:
    if mode is None or front.shell in _ALIKE:
        return True
    return mode.is_canonical and front.blocked.size is None
