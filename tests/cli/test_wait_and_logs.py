"""`muxpilot wait` and `muxpilot logs`: what happens in a pane or to a command, and what was printed."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import LIMIT_S, Terminal


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A named pipe: a command that reads it goes on when the test writes to it."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


# wait


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("true", 0, "completed with exit code 0 after "),
        ("(exit 9)", 1, "failed with exit code 9 after "),
    ],
)
def test_the_end_of_a_command_is_told_in_one_line(
    terminal: Terminal, line: str, code: int, words: str
) -> None:
    command = terminal.detach(line)
    found, out, err = terminal.call("wait", command)
    assert (found, err) == (code, "")
    assert out.startswith(f"{command} {words}")
    assert out.count("\n") == 1


def test_waiting_for_a_command_ends_at_the_timeout_with_124(terminal: Terminal, gate: Path) -> None:
    command = terminal.detach(f"cat {gate}")
    code, out, _ = terminal.call("wait", command, "--timeout", "0.3")
    assert code == 124
    assert out.startswith(f"{command} running after ")
    gate.write_text("")
    assert terminal.call("wait", command)[0] == 0


def test_a_command_that_asks_ends_the_wait_with_125(terminal: Terminal) -> None:
    command = terminal.detach("read -p 'Name? ' name; echo $name")
    code, out, _ = terminal.call("wait", command)
    assert code == 125
    assert f"{command} in pane {terminal.pane} waits for input" in out
    assert "Name?" in out


def test_a_pattern_counts_from_the_beginning_of_the_command(terminal: Terminal, gate: Path) -> None:
    """The line may be printed before `wait` starts. The typed line itself does not count."""
    command = terminal.detach(f"sleep 0.2; echo ser'ver' ready; cat {gate}")
    for _ in range(2):
        code, out, err = terminal.call("wait", command, "--until", "pattern:server ready")
        assert (code, err) == (0, "")
        assert out.startswith(f"{terminal.pane}: pattern:server ready after ")
    gate.write_text("")


def test_a_command_that_ends_before_its_pattern_is_told(terminal: Terminal) -> None:
    command = terminal.detach("echo other; (exit 5)")
    code, out, _ = terminal.call("wait", command, "--until", "pattern:never", "--timeout", "30")
    assert code == 1
    assert out.startswith(f"{command} failed with exit code 5")


def test_a_trigger_in_a_pane_is_told(terminal: Terminal, gate: Path) -> None:
    terminal.detach(f"cat {gate}; echo line")
    with terminal.open("wait", terminal.pane, "--until", f"pattern:line,file:{gate}", "--json") as program:
        answer = json.loads(program.communicate(timeout=LIMIT_S)[0])
    assert program.returncode == 0
    assert (answer["paneId"], answer["event"]) == (terminal.pane, f"file:{gate}")
    gate.write_text("")


def test_a_pane_in_which_nothing_happens_ends_the_wait_with_124(terminal: Terminal) -> None:
    code, out, err = terminal.call("wait", terminal.pane, "--until", "bell", "--timeout", "0.2")
    assert (code, err) == (124, "")
    assert out.startswith(f"{terminal.pane}: timeout after ")


def test_a_failing_command_in_a_pane_ends_the_wait_with_1(terminal: Terminal, gate: Path) -> None:
    terminal.detach(f"cat {gate}; (exit 6)")
    with terminal.open("--log-level", "debug:watch", "wait", terminal.pane, "--until", "exit") as program:
        assert program.stderr is not None
        assert any(b"watch began" in line for line in program.stderr)
        gate.write_text("")
        out = program.communicate(timeout=LIMIT_S)[0]
    assert program.returncode == 1, out
    assert out.startswith(f"{terminal.pane}: exit after ".encode())


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("wait", "cmd-0123456789"), "not found. Use one that muxpilot run --detach"),
        (("wait", "%99"), "Pane '%99' not found."),
        (("wait", "work", "--until", "sometime"), "sometime"),
        (("logs", "cmd-0123456789"), "Command 'cmd-0123456789' not found."),
        (("logs", "%99"), "Pane '%99' not found. Run muxpilot ps to see the panes there are"),
        (("logs", "work", "--since", "yesterday"), "must be a cursor"),
        (("logs", "work", "-f", "--json"), "do not go together"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(terminal: Terminal, argv: tuple[str, ...], words: str) -> None:
    code, out, err = terminal.call(*argv)
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("muxpilot: ")
    assert err.count("\n") == 1


def test_progress_is_shown_where_stderr_is_a_terminal(terminal: Terminal) -> None:
    ours, theirs = pty.openpty()
    where = ("--socket", terminal.place.socket)
    command = [sys.executable, "-m", "muxpilot", *where, "wait", terminal.pane, "--until", "bell"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs) as program:
        os.close(theirs)
        assert f"muxpilot: waiting for {terminal.pane}, ".encode() in os.read(ours, 1024)
        program.send_signal(signal.SIGINT)
        assert program.wait(LIMIT_S) == 130
    os.close(ours)


# logs


def test_the_output_of_a_command_is_printed_and_bytes_can_be_skipped(terminal: Terminal) -> None:
    command = terminal.detach("printf 'one\\ntwo\\n'")
    assert terminal.call("wait", command)[0] == 0
    assert terminal.call("logs", command) == (0, "one\ntwo\n", "")
    assert terminal.call("logs", command, "--since", "4") == (0, "two\n", "")
    assert json.loads(terminal.call("logs", command, "--json")[1])["output"] == "one\ntwo\n"
    code, _, err = terminal.call("logs", command, "--since", "x.1.2.3")
    assert code == 2
    assert "number of bytes" in err


def test_a_pane_is_printed_and_later_only_what_is_new(terminal: Terminal) -> None:
    terminal.run("--", "echo before")
    assert "\nbefore\n" in terminal.call("logs", terminal.pane)[1]
    cursor = json.loads(terminal.call("logs", terminal.pane, "--json")[1])["cursor"]
    terminal.run("--", "echo after")
    out = terminal.call("logs", terminal.pane, "--since", cursor)[1]
    assert "\nafter\n" in out
    assert "before" not in out
    assert len(terminal.call("logs", terminal.pane, "-n", "2")[1].splitlines()) == 2


def test_a_command_is_followed_until_it_ends(terminal: Terminal, gate: Path) -> None:
    command = terminal.detach(f"echo one; cat {gate}; echo two")
    with terminal.open("logs", "-f", command) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"one\n"
        gate.write_text("")
        assert program.stdout.read() == b"two\n"
        assert program.wait(LIMIT_S) == 0


def test_a_pane_is_followed_until_its_program_ends(terminal: Terminal) -> None:
    terminal.run("--", "PS1='> '; echo first")
    with terminal.open("logs", "-f", terminal.pane) as program:
        assert program.stdout is not None
        assert b"first\n" in iter(program.stdout.readline, b"")
        terminal.run("--", "printf 'a\\nb\\n'")
        assert [program.stdout.readline() for _ in range(3)] == [b"> printf 'a\\nb\\n'\n", b"a\n", b"b\n"]
        terminal.place.tmux("kill-pane", "-t", terminal.pane)
        assert program.wait(LIMIT_S) == 0
