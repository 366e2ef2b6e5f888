"""From facts about processes to what the foreground program waits for."""

from __future__ import annotations

import pytest

from muxpilot.processes.decide import ForegroundState, decide
from muxpilot.processes.facts import BlockedOn, ForegroundProcess, WaitKind
from muxpilot.processes.terminal_mode import TerminalMode
from muxpilot.shell_table import recognize_shell

PLAIN = TerminalMode(is_canonical=True, has_echo=True, maps_return=True)
SECRET = TerminalMode(is_canonical=True, has_echo=False, maps_return=True)
RAW = TerminalMode(is_canonical=False, has_echo=False, maps_return=False)
RAW_RETURN = TerminalMode(is_canonical=False, has_echo=False, maps_return=True)
RAW_ECHO = TerminalMode(is_canonical=False, has_echo=True, maps_return=True)


def program(
    wait: WaitKind,
    *,
    name: str = "prog",
    pid: int = 10,
    state: str = "S",
    shell: str | None = None,
    size: int | None = None,
    is_leader: bool = True,
) -> ForegroundProcess:
    return ForegroundProcess(
        pid, name, state, is_leader, recognize_shell([shell or ""], []), BlockedOn(wait, size)
    )


def verdict(state: ForegroundState) -> str:
    return state.waiting_for or "no" if state.is_known else "unknown"


@pytest.mark.parametrize("wait", [WaitKind.READS, WaitKind.POLLS])
@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        (PLAIN, "line"),
        (SECRET, "password"),
        (RAW, "key"),
        (RAW_ECHO, "key"),
        (RAW_RETURN, "key"),
        (None, "line"),
    ],
)
def test_who_reads_the_terminal_waits_for_what_its_mode_says(
    wait: WaitKind, mode: TerminalMode | None, wanted: str
) -> None:
    assert verdict(decide([program(wait)], mode)) == wanted


@pytest.mark.parametrize(("name", "wanted"), [("less", "pager"), ("nano", "editor"), ("lesser", "key")])
def test_a_pager_and_an_editor_are_told_by_their_names(name: str, wanted: str) -> None:
    assert verdict(decide([program(WaitKind.READS, name=name)], RAW)) == wanted
    assert verdict(decide([program(WaitKind.ELSEWHERE, name=name)], RAW)) == "no"


@pytest.mark.parametrize("mode", [PLAIN, SECRET, RAW, None])
def test_who_surely_waits_for_something_else_does_not_wait_for_input(mode: TerminalMode | None) -> None:
    assert verdict(decide([program(WaitKind.ELSEWHERE)], mode)) == "no"


@pytest.mark.parametrize("wait", [WaitKind.HIDDEN, WaitKind.MAY_READ, WaitKind.MAY_POLL])
@pytest.mark.parametrize(
    ("mode", "wanted"), [(PLAIN, "unknown"), (SECRET, "password"), (RAW, "key"), (None, "unknown")]
)
def test_what_is_hidden_is_judged_by_the_mode_or_not_at_all(
    wait: WaitKind, mode: TerminalMode | None, wanted: str
) -> None:
    state = decide([program(wait)], mode)
    assert verdict(state) == wanted
    assert state.evidence


def test_a_hidden_program_that_runs_is_not_called_waiting() -> None:
    assert verdict(decide([program(WaitKind.HIDDEN, state="R")], RAW)) == "unknown"


@pytest.mark.parametrize(
    ("shell", "mode", "size", "wanted", "is_ambiguous"),
    [
        ("bash", RAW, None, "shell", False),
        ("bash", RAW_RETURN, 1, "key", False),  # read -sn1
        ("bash", RAW_ECHO, 1, "key", False),  # read -n1
        ("bash", PLAIN, 4096, "line", False),  # read
        ("bash", PLAIN, 1, "line", False),  # read, older
        ("bash", PLAIN, 1024, "shell", False),  # --noediting
        ("bash", PLAIN, None, "line", False),
        ("bash", SECRET, 4096, "password", False),
        ("zsh", RAW_RETURN, 1, "shell", False),
        ("zsh", PLAIN, 1, "line", False),
        ("fish", RAW, None, "shell", True),
        ("ksh", RAW, None, "shell", True),
        ("mksh", RAW, 1, "shell", False),
        ("mksh", PLAIN, 1, "line", False),
        ("dash", PLAIN, 8192, "shell", False),
        ("dash", PLAIN, 1, "line", False),
        ("dash", PLAIN, None, "shell", True),
        ("sh", PLAIN, 8192, "shell", False),
        ("ash", RAW_RETURN, None, "shell", False),
        ("dash", None, None, "shell", True),
    ],
)
def test_a_shells_prompt_is_told_from_its_read(
    shell: str, mode: TerminalMode | None, size: int | None, wanted: str, is_ambiguous: bool
) -> None:
    state = decide([program(WaitKind.READS, shell=shell, size=size)], mode)
    assert (state.waiting_for, state.is_ambiguous) == (wanted, is_ambiguous)
    assert state.is_shell


@pytest.mark.parametrize(
    ("wait", "mode", "wanted"),
    [
        (WaitKind.READS, SECRET, "password"),
        (WaitKind.MAY_READ, SECRET, "password"),
        (WaitKind.READS, PLAIN, "line"),  # a host key to confirm
        (WaitKind.POLLS, RAW, "unknown"),
        (WaitKind.READS, RAW, "unknown"),
        (WaitKind.ELSEWHERE, RAW, "unknown"),  # a tmux client: its server reads
        (WaitKind.POLLS, PLAIN, "unknown"),
        (WaitKind.ELSEWHERE, PLAIN, "no"),
    ],
)
def test_the_far_side_is_not_guessed_at(wait: WaitKind, mode: TerminalMode, wanted: str) -> None:
    state = decide([program(wait, name="ssh")], mode)
    assert verdict(state) == wanted
    assert state.is_remote
    assert wanted != "unknown" or "ssh" in state.evidence


def test_of_a_group_the_one_that_reads_is_in_front_else_its_leader() -> None:
    leader = program(WaitKind.ELSEWHERE, name="make", pid=1)
    reader = program(WaitKind.READS, name="cat", pid=2, is_leader=False)
    other = program(WaitKind.ELSEWHERE, name="sleep", pid=3, is_leader=False)
    state = decide([leader, other, reader], PLAIN)
    assert (state.foreground_cmd, state.foreground_pid, state.group) == ("cat", 2, (1, 3, 2))
    assert decide([leader, other], PLAIN).foreground_cmd == "make"
    hidden = program(WaitKind.HIDDEN, name="su", pid=4, is_leader=False)
    assert verdict(decide([leader, hidden], PLAIN)) == "unknown"


@pytest.mark.parametrize("state", "ZXTt")
def test_who_has_ended_or_is_stopped_waits_for_nobody(state: str) -> None:
    idle = program(WaitKind.ELSEWHERE, state=state, name="idle")
    assert verdict(decide([idle], RAW)) == "no"
    live = program(WaitKind.ELSEWHERE, is_leader=False, name="live")
    assert decide([idle, live], RAW).foreground_cmd == "live"


def test_no_program_is_not_none_waiting() -> None:
    assert not decide([], PLAIN).is_known
