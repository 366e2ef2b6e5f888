"""From facts to an answer, case by case."""

from __future__ import annotations

import pytest

from muxpilot.processes.decide import State, decide
from muxpilot.processes.facts import Blocked, Program, Wait
from muxpilot.processes.tty import Mode

PLAIN = Mode(is_canonical=True, has_echo=True, maps_return=True)
SECRET = Mode(is_canonical=True, has_echo=False, maps_return=True)
RAW = Mode(is_canonical=False, has_echo=False, maps_return=False)
RAW_RETURN = Mode(is_canonical=False, has_echo=False, maps_return=True)
RAW_ECHO = Mode(is_canonical=False, has_echo=True, maps_return=True)


def program(
    wait: Wait,
    *,
    name: str = "prog",
    pid: int = 10,
    state: str = "S",
    shell: str | None = None,
    size: int | None = None,
    is_leader: bool = True,
) -> Program:
    return Program(pid, name, state, is_leader, shell, Blocked(wait, size))


def verdict(state: State) -> str:
    return state.waiting_for or "no" if state.is_known else "unknown"


@pytest.mark.parametrize("wait", [Wait.READS, Wait.POLLS])
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
    wait: Wait, mode: Mode | None, wanted: str
) -> None:
    assert verdict(decide([program(wait)], mode)) == wanted


@pytest.mark.parametrize("mode", [PLAIN, SECRET, RAW, None])
def test_who_surely_waits_for_something_else_does_not_wait_for_input(mode: Mode | None) -> None:
    assert verdict(decide([program(Wait.ELSEWHERE)], mode)) == "no"


@pytest.mark.parametrize("wait", [Wait.HIDDEN, Wait.MAY_READ, Wait.MAY_POLL])
@pytest.mark.parametrize(
    ("mode", "wanted"), [(PLAIN, "unknown"), (SECRET, "password"), (RAW, "key"), (None, "unknown")]
)
def test_what_is_hidden_is_judged_by_the_mode_or_not_at_all(
    wait: Wait, mode: Mode | None, wanted: str
) -> None:
    state = decide([program(wait)], mode)
    assert verdict(state) == wanted
    assert state.evidence


def test_a_hidden_program_that_runs_is_not_called_waiting() -> None:
    assert verdict(decide([program(Wait.HIDDEN, state="R")], RAW)) == "unknown"


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
    shell: str, mode: Mode | None, size: int | None, wanted: str, is_ambiguous: bool
) -> None:
    state = decide([program(Wait.READS, shell=shell, size=size)], mode)
    assert (state.waiting_for, state.is_ambiguous) == (wanted, is_ambiguous)
    assert state.is_shell


@pytest.mark.parametrize(
    ("wait", "mode", "wanted"),
    [
        (Wait.READS, SECRET, "password"),
        (Wait.MAY_READ, SECRET, "password"),
        (Wait.READS, PLAIN, "line"),  # a host key to confirm
        (Wait.POLLS, RAW, "unknown"),
        (Wait.READS, RAW, "unknown"),
        (Wait.ELSEWHERE, RAW, "unknown"),  # a tmux client: its server reads
        (Wait.POLLS, PLAIN, "unknown"),
        (Wait.ELSEWHERE, PLAIN, "no"),
    ],
)
def test_the_far_side_is_not_guessed_at(wait: Wait, mode: Mode, wanted: str) -> None:
    state = decide([program(wait, name="ssh")], mode)
    assert verdict(state) == wanted
    assert state.is_remote
    assert wanted != "unknown" or "ssh" in state.evidence


def test_of_a_group_the_one_that_reads_is_in_front_else_its_leader() -> None:
    leader = program(Wait.ELSEWHERE, name="make", pid=1)
    reader = program(Wait.READS, name="cat", pid=2, is_leader=False)
    other = program(Wait.ELSEWHERE, name="sleep", pid=3, is_leader=False)
    state = decide([leader, other, reader], PLAIN)
    assert (state.foreground_cmd, state.foreground_pid, state.group) == ("cat", 2, (1, 3, 2))
    assert decide([leader, other], PLAIN).foreground_cmd == "make"
    hidden = program(Wait.HIDDEN, name="su", pid=4, is_leader=False)
    assert verdict(decide([leader, hidden], PLAIN)) == "unknown"


@pytest.mark.parametrize("state", "ZXTt")
def test_who_has_ended_or_is_stopped_waits_for_nobody(state: str) -> None:
    idle = program(Wait.ELSEWHERE, state=state, name="idle")
    assert verdict(decide([idle], RAW)) == "no"
    live = program(Wait.ELSEWHERE, is_leader=False, name="live")
    assert decide([idle, live], RAW).foreground_cmd == "live"


def test_no_program_is_not_none_waiting() -> None:
    assert not decide([], PLAIN).is_known
