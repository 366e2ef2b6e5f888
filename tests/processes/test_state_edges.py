"""The state detector at its edges: processes that end, start and stop, and systems that hide facts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from muxpilot.processes.proc import ProcReader
from muxpilot.processes.state import ForegroundState, read_local_state
from muxpilot.processes.terminal_mode import TerminalMode, read_terminal_mode
from tests.rigs.waiting import LIMIT_S

Raw = Callable[..., str]


@pytest.fixture(params=["system"])
def binary(binary: str) -> str:
    """Return one tmux: it only starts the programs."""
    return binary


def start_program(raw: Raw, command: str) -> tuple[int, str]:
    row = raw("new-session", "-d", "-P", "-F", "#{pane_pid} #{pane_tty}", command).split()
    return int(row[0]), row[1]


def wait_for_state(
    pid: int, tty: str, wanted: Callable[[ForegroundState], bool], proc: ProcReader | None = None
) -> ForegroundState:
    deadline = time.monotonic() + LIMIT_S
    while True:
        state = read_local_state(pid, tty, proc=proc or ProcReader())
        if wanted(state):
            return state
        assert time.monotonic() < deadline, state
        time.sleep(0.01)


def is_read_by_cat(state: ForegroundState) -> bool:
    """Return whether cat reads. A shell that is about to start it may look like a reader for a moment."""
    return (state.waiting_for, state.foreground_cmd) == ("line", "cat")


def test_a_process_that_has_gone_is_not_known_and_no_error() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    state = read_local_state(child.pid, "/dev/pts/0")
    assert (state.is_known, state.waiting_for, state.foreground_pid) == (False, None, None)
    assert "ended" in state.evidence


def test_a_process_without_a_terminal_is_not_known() -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as child:
        state = read_local_state(child.pid, "/dev/pts/0")
        child.kill()
    assert (state.is_known, state.waiting_for) == (False, None)
    assert "no terminal" in state.evidence


@pytest.mark.parametrize("tty", ["", "/dev/no/such", "x\0y", "/dev/null", "/"])
def test_a_terminal_that_is_none_has_no_mode_and_stops_nobody(tty: str, raw: Raw) -> None:
    assert read_terminal_mode(tty) is None
    pid, _ = start_program(raw, "exec cat")
    state = read_local_state(pid, tty)
    assert state.is_canonical is None


def test_without_its_terminals_path_a_reader_is_found_by_number(raw: Raw) -> None:
    pid, _ = start_program(raw, "exec cat")

    def is_cat_reading(state: ForegroundState) -> bool:
        return (state.waiting_for, state.foreground_cmd) == ("line", "cat")

    assert wait_for_state(pid, "/dev/no/such", is_cat_reading).foreground_cmd == "cat"


def test_programs_that_come_and_go_meanwhile_are_no_error(raw: Raw) -> None:
    pid, tty = start_program(raw, "exec sh -c 'while :; do true | cat; (exec true); done'")
    fronts = {read_local_state(pid, tty).waiting_for for _ in range(300)}
    assert fronts == {None}


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_a_poll_goes_on_after_a_stop(raw: Raw) -> None:
    code = "import select; poll = select.poll(); poll.register(0, 1); poll.poll()"
    pid, tty = start_program(raw, f"exec {sys.executable} -c '{code}'")
    wait_for_state(pid, tty, lambda state: state.waiting_for == "line")
    before = ProcReader().system_call(pid, pid)
    os.kill(pid, signal.SIGSTOP)

    def has_gone_on(state: ForegroundState) -> bool:
        if is_stopped(pid):
            os.kill(pid, signal.SIGCONT)  # as tmux does; 3.3a may miss that it stopped
        call = ProcReader().system_call(pid, pid)
        return (
            call is not None and before is not None and call[0] != before[0] and state.waiting_for == "line"
        )

    wait_for_state(pid, tty, has_gone_on)


def test_a_mode_that_changes_meanwhile_is_asked_for_again(raw: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    pid, tty = start_program(raw, "exec bash --norc")
    wait_for_state(pid, tty, lambda state: state.waiting_for == "shell")
    edited = read_terminal_mode(tty)
    modes = iter([TerminalMode(is_canonical=True, has_echo=True, maps_return=True)])
    monkeypatch.setattr("muxpilot.processes.linux_state.read_terminal_mode", lambda tty: next(modes, edited))
    assert read_local_state(pid, tty).waiting_for == "shell"


def test_a_reader_whose_leader_has_ended_is_in_front(raw: Raw) -> None:
    pid, tty = start_program(raw, "exec bash --norc")
    wait_for_state(pid, tty, lambda state: state.waiting_for == "shell")
    raw("send-keys", "true | cat /dev/tty", "Enter")
    wait_for_state(pid, tty, is_read_by_cat)


class ChildlessProc(ProcReader):
    """A kernel that was built without the list of a process's children."""

    def children(self, pid: int) -> list[int]:
        raise FileNotFoundError


def test_without_lists_of_children_all_processes_are_looked_through(raw: Raw) -> None:
    pid, tty = start_program(raw, "exec bash --norc")
    wait_for_state(pid, tty, lambda state: state.waiting_for == "shell")
    raw("send-keys", "cat", "Enter")
    wait_for_state(pid, tty, is_read_by_cat, ChildlessProc())
