"""From facts about the foreground processes to what the foreground program waits for. No I/O.

The theory. A program that waits for a person is blocked in a read of the terminal, or polls it. What it
waits for is then in the terminal's mode:

    canonical, echo      a line
    canonical, no echo   a password
    raw                  a key

A program that `screen_programs` knows is a pager or an editor, however it reads.
A shell at its prompt looks like one of these. Its kind (`shell_table`) says how its prompt differs from its
builtin `read`. Where the kernel hides what a process is blocked in, the mode alone decides, or nothing does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from muxpilot.processes.facts import ForegroundProcess, WaitKind
from muxpilot.processes.screen_programs import SCREEN_PROGRAMS
from muxpilot.processes.terminal_mode import TerminalMode
from muxpilot.records import record

WaitingFor = Literal["line", "password", "key", "shell", "pager", "editor"]

# Programs that show what another machine or another terminal decides. They poll our terminal in raw mode
# whether the program on the other side waits or not.
REMOTE_PROGRAMS = frozenset(
    "ssh slogin autossh mosh mosh-client telnet rlogin docker podman nerdctl kubectl oc lxc incus machinectl "
    "tmux screen zellij dtach abduco minicom picocom cu tio et vagrant gcloud aws".split()
)
# Those of them that are terminals themselves: a prompt that they show may be in any of their panes.
NESTED_TERMINALS = frozenset("tmux screen zellij dtach abduco".split())


@record
class ForegroundState:
    """The activity of the foreground program of a pane.

    `waiting_for` is None if it does not wait, or if that is not known. `is_shell`: it is a shell that takes
    commands. `is_ambiguous`: a shell waits, and its prompt cannot be distinguished from its own `read`.
    `is_remote`: a program on another machine or terminal decides what is shown.
    """

    waiting_for: WaitingFor | None
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

    @property
    def is_at_shell_prompt(self) -> bool:
        return self.waiting_for == "shell"


def unknown_state(why: str) -> ForegroundState:
    """Return the state of a pane about which nothing could be found out."""
    return ForegroundState(
        None, is_known=False, foreground_pid=None, foreground_cmd="", is_shell=False, evidence=why
    )


def decide(group: Sequence[ForegroundProcess], mode: TerminalMode | None) -> ForegroundState:
    """Judge the processes of the foreground group, its leader first."""
    if not group:
        return unknown_state("no foreground process was found")
    front = max(group, key=lambda process: (process.is_live, _weight(process), process.is_leader))
    is_remote = front.name in REMOTE_PROGRAMS
    waiting_for, is_known, evidence = _judge(front, mode, is_remote=is_remote)
    return ForegroundState(
        waiting_for,
        is_known,
        front.pid,
        front.name,
        front.shell is not None,
        evidence,
        is_ambiguous=waiting_for == "shell" and _is_ambiguous(front, mode),
        is_remote=is_remote,
        is_canonical=mode.is_canonical if mode else None,
        has_echo=mode.has_echo if mode else None,
        group=tuple(process.pid for process in group),
    )


def _weight(process: ForegroundProcess) -> int:
    """Order processes: one that reads the terminal, one that may read it, one that does not."""
    return int(process.blocked_on.wait) if process.is_live else -1


# What it waits for, whether that is known, and the evidence.
Judgement = tuple[WaitingFor | None, bool, str]


def _judge(front: ForegroundProcess, mode: TerminalMode | None, *, is_remote: bool) -> Judgement:
    wait = front.blocked_on.wait
    if not front.is_live:
        return None, True, "stopped" if front.state in "Tt" else "ended"
    if is_remote and _forwards_keys(wait, mode):
        return None, False, f"{front.name} is in the foreground; what its remote side does is not visible"
    if wait is WaitKind.ELSEWHERE:
        return None, True, "runs, or waits for something else"
    if wait is WaitKind.READS:
        return _by_mode(front, mode), True, _add_source(front, "blocked in read on the terminal")
    if wait is WaitKind.POLLS:
        return _by_mode(front, mode), True, _add_source(front, "polls the terminal")
    return _guess(front, mode)


def _forwards_keys(wait: WaitKind, mode: TerminalMode | None) -> bool:
    """Return whether keys go to the remote side, so that local facts say nothing about it.

    A password, and a line that is read at once (such as ssh's question about a host key), are asked here.
    """
    if mode is not None and (not mode.is_canonical or not mode.has_echo):
        return not mode.is_canonical
    return wait not in (WaitKind.ELSEWHERE, WaitKind.READS)


def _add_source(front: ForegroundProcess, evidence: str) -> str:
    return f"{evidence}, by its wchan" if front.blocked_on.by_wchan else evidence


def _guess(front: ForegroundProcess, mode: TerminalMode | None) -> Judgement:
    """Judge by the terminal's mode alone: the kernel hides what the process is blocked in."""
    if mode is not None and front.state == "S":
        if not mode.is_canonical:
            return _by_mode(front, mode), True, "sleeps, and the terminal is raw"
        if not mode.has_echo:
            return "password", True, "sleeps, and the terminal's echo is off"
    if front.blocked_on.wait is WaitKind.HIDDEN:
        return None, False, "the system does not say what it waits for"
    return None, False, "waits for a descriptor; the system does not say which"


def _by_mode(front: ForegroundProcess, mode: TerminalMode | None) -> WaitingFor:
    if (program := SCREEN_PROGRAMS.get(front.name)) is not None:
        return program.kind
    if mode is None:
        return "shell" if front.shell else "line"
    if mode.is_canonical:
        if not mode.has_echo:
            return "password"
        return "shell" if _is_plain_prompt(front) else "line"
    # A line editor draws what is typed itself. Bash's also turns ICRNL off, and its `read -n` does not.
    shell = front.shell
    if shell is None or mode.has_echo or (shell.editor_keeps_return and mode.maps_return):
        return "key"
    return "shell"


def _is_plain_prompt(front: ForegroundProcess) -> bool:
    """Return whether a shell without a line editor is at its prompt.

    There it asks for many bytes at once, and in its builtin `read` for one.
    """
    size, shell = front.blocked_on.size, front.shell
    if shell is None:
        return False
    if shell.plain_prompt_bytes is not None:
        return size == shell.plain_prompt_bytes
    return not shell.has_line_editor and size != 1


def _is_ambiguous(front: ForegroundProcess, mode: TerminalMode | None) -> bool:
    if mode is None or (front.shell is not None and front.shell.read_looks_like_prompt):
        return True
    return mode.is_canonical and front.blocked_on.size is None
