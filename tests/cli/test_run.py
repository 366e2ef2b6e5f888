"""`muxpilot run`: output, exit codes, timeouts, Ctrl-C, and commands that outlive it."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from muxpilot.cli.run import to_command_line
from tests.cli.conftest import LIMIT_S, Terminal
from tests.rigs.engine import wait_until


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["ls | wc -l"], "ls | wc -l"),
        (["printf", "%s\n", "a b", "it's", "$HOME"], "printf '%s\n' 'a b' 'it'\"'\"'s' '$HOME'"),
    ],
)
def test_one_word_is_a_line_of_shell_and_several_are_quoted(words: list[str], line: str) -> None:
    assert to_command_line(words) == line


def test_the_output_and_the_exit_code_are_the_commands(terminal: Terminal) -> None:
    assert terminal.run("--", "printf 'one\\ntwo'; (exit 3)") == (3, "one\ntwo", "")
    assert terminal.run("printf", "%s|", "a b", "$HOME;") == (0, "a b|$HOME;|", "")


def test_a_large_output_is_printed_whole(terminal: Terminal) -> None:
    code, out, err = terminal.run("--", "seq 1 50000")
    assert (code, err) == (0, "")
    assert out == "".join(f"{number}\n" for number in range(1, 50001))


def test_a_progress_bar_is_printed_once_as_it_is_in_the_end(terminal: Terminal) -> None:
    line = r"for n in 1 2 3; do printf '\r%s0 %%' $n; sleep 0.05; done; echo; printf '\e[31mred\e[0m\n'"
    assert terminal.run("--", line) == (0, "30 %\nred\n", "")


def test_a_timeout_exits_124_and_interrupts_nothing(terminal: Terminal, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    code, out, err = terminal.run("--timeout", "5", "--", f"echo begun; cat {tmp_path}/gate; echo over")
    command = err.split()[1]
    assert (code, out) == (124, "begun\n")
    assert err == f"muxpilot: {command} still runs. Wait for it with: muxpilot wait {command}\n"
    (tmp_path / "gate").write_text("open\n")
    assert terminal.call("wait", command)[0] == 0
    assert terminal.call("logs", command) == (0, "begun\nopen\nover\n", "")


def test_a_command_that_asks_is_told_with_exit_code_125_and_can_be_answered(terminal: Terminal) -> None:
    code, out, err = terminal.run("--", 'read -rsp "Password: " secret; echo; echo ${#secret}')
    command = err.split()[1]
    assert (code, out) == (125, "Password: ")
    assert "waits for a password" in err
    assert f"muxpilot send '{terminal.pane}' TEXT" in err
    assert terminal.call("send", terminal.pane, "open", "sesame") == (0, "", "")
    assert terminal.call("wait", command)[0] == 0
    assert terminal.call("logs", command)[1] == "Password: \n11\n"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("less /etc/passwd", "The pager less is in front. Leave it with q."),
        ("echo 'open", "The command is not complete"),
    ],
)
def test_what_waits_for_keys_is_told_with_how_to_press_them(
    terminal: Terminal, line: str, words: str
) -> None:
    code, _, err = terminal.run("--", line)
    assert code == 125
    assert words in err
    assert f"muxpilot send '{terminal.pane}' --keys " in err


def test_a_command_that_opens_a_shell_succeeds_and_the_next_one_runs_inside(terminal: Terminal) -> None:
    code, _, err = terminal.run("--", "bash --norc")
    assert code == 0
    assert "The next muxpilot run in this pane goes inside." in err
    assert terminal.run("--", "echo $((SHLVL))") == (0, "2\n", "")


def test_the_result_as_json_is_that_of_the_tool(terminal: Terminal) -> None:
    code, out, err = terminal.run("--json", "--", "echo text; (exit 4)")
    answer = json.loads(out)
    assert (code, err) == (4, "")
    assert {name: answer[name] for name in ("paneId", "status", "exitCode", "output", "timedOut")} == {
        "paneId": terminal.pane,
        "status": "failed",
        "exitCode": 4,
        "output": "text\n",
        "timedOut": False,
    }


def test_an_occupied_pane_is_told_in_one_line_and_nothing_is_typed(terminal: Terminal) -> None:
    terminal.place.tmux("send-keys", "-t", terminal.pane, "cat", "Enter")
    asyncio.run(wait_until(lambda: "cat" in terminal.screen()))
    code, out, err = terminal.run("--", "echo never")
    assert (code, out) == (2, "")
    assert err.startswith(f"muxpilot: Pane '{terminal.pane}' is occupied. cat ")
    assert err.count("\n") == 1
    assert "never" not in terminal.screen()


@pytest.mark.parametrize("argv", [("run",), ("run", "-p"), ("run", "--timeout", "soon", "ls")])
def test_bad_usage_exits_2(terminal: Terminal, argv: tuple[str, ...]) -> None:
    code, out, err = terminal.call(*argv)
    assert (code, out) == (2, "")
    assert "usage: muxpilot run" in err


@pytest.mark.parametrize("seconds", ["-1", "1e9", "nan"])
def test_a_timeout_out_of_range_is_refused(terminal: Terminal, seconds: str) -> None:
    code, _, err = terminal.run(f"--timeout={seconds}", "--", "true")
    assert (code, err) == (2, "muxpilot: --timeout must be from 0 to 86400 seconds.\n")


def test_a_pane_that_is_not_there_is_told(terminal: Terminal) -> None:
    code, out, err = terminal.call("run", "-p", "%99", "--", "true")
    assert (code, out) == (2, "")
    assert err.startswith("muxpilot: Pane '%99' not found.")


def test_the_policy_and_the_audit_log_apply(terminal: Terminal, tmp_path: Path) -> None:
    config, log = tmp_path / "policy.toml", tmp_path / "audit.jsonl"
    config.write_text('[security.command_filter]\nmode = "denylist"\npatterns = ["^rm"]\n')
    code, out, err = terminal.run("--config", str(config), "--audit", str(log), "--", "rm -rf x")
    assert (code, out) == (2, "")
    assert "security.command_filter" in err
    [row] = [json.loads(line) for line in log.read_text().splitlines()]
    assert (row["tool"], row["ok"]) == ("execute-command", False)


# In a process of its own


def test_lines_are_printed_while_the_command_runs(terminal: Terminal, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    with terminal.open(
        "run", "-p", terminal.pane, "--", f"echo one; cat {tmp_path}/gate; echo two"
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"one\n"
        (tmp_path / "gate").write_text("")
        assert program.stdout.read() == b"two\n"
        assert program.wait(LIMIT_S) == 0


def test_ctrl_c_interrupts_the_command(terminal: Terminal) -> None:
    with terminal.open("run", "-p", terminal.pane, "--", "echo begun; sleep 1000") as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"begun\n"
        program.send_signal(signal.SIGINT)
        assert program.wait(LIMIT_S) == 130
    assert terminal.run("--", "echo free") == (0, "free\n", "")
    commands = json.loads(terminal.call("call", "list-commands")[1])["commands"]
    assert [row["status"] for row in commands] == ["cancelled", "completed"]


def test_a_second_ctrl_c_leaves_a_command_that_ignores_the_first(terminal: Terminal) -> None:
    line = """bash -c "trap 'echo ignored' INT; echo begun; while :; do sleep 0.1; done\""""
    with terminal.open("run", "-p", terminal.pane, "--", line) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"begun\n"
        program.send_signal(signal.SIGINT)
        assert any(line.endswith(b"ignored\n") for line in iter(program.stdout.readline, b""))
        program.send_signal(signal.SIGINT)
        assert program.wait(LIMIT_S) == 130
    assert json.loads(terminal.call("call", "list-commands")[1])["commands"][0]["status"] == "running"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_outlives_the_process_that_ran_it(
    terminal: Terminal, tmp_path: Path, number: signal.Signals
) -> None:
    os.mkfifo(tmp_path / "gate")
    line = f"echo begun; cat {tmp_path}/gate; echo over; (exit 7)"
    with terminal.open("run", "-p", terminal.pane, "--", line) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"begun\n"
        program.send_signal(number)
        assert program.wait(LIMIT_S) in (-signal.SIGKILL, 128 + signal.SIGTERM)
    (tmp_path / "gate").write_text("")
    [row] = json.loads(terminal.call("call", "list-commands")[1])["commands"]
    code, out, _ = terminal.call("wait", row["commandId"])
    assert code == 1
    assert out.startswith(f"{row['commandId']} failed with exit code 7 after ")
    assert terminal.call("logs", row["commandId"])[1] == "begun\nover\n"


def test_a_detached_command_of_several_lines_is_typed_whole(terminal: Terminal) -> None:
    command = terminal.detach("echo first\necho second\necho third")
    assert terminal.call("wait", command)[0] == 0
    assert terminal.call("logs", command)[1] == "first\nsecond\nthird\n"


def test_a_detached_command_without_a_journal_is_told(terminal: Terminal, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[tracking]\njournal = false\n")
    code, _, err = terminal.run("--config", str(config), "--detach", "--", "true")
    assert (code, err) == (
        0,
        "muxpilot: No other process will know this command: tracking.journal is false.\n",
    )
    assert terminal.call("--config", str(config), "clean", "--dry-run", "--running")[0] == 0


def run_on_terminals(terminal: Terminal, *argv: str, stdout: bool, stderr: bool) -> tuple[int, bytes, bytes]:
    """Run the program with stdout or stderr on a terminal of its own. Return its exit code and both."""
    command = [sys.executable, "-m", "muxpilot", "--socket", terminal.place.socket, *argv]
    ours, theirs = zip(
        *(pty.openpty() if is_terminal else os.pipe() for is_terminal in (stdout, stderr)), strict=True
    )
    done = subprocess.run(
        command, stdout=theirs[0], stderr=theirs[1], stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False
    )
    for descriptor in theirs:
        os.close(descriptor)
    texts = [read_all(descriptor) for descriptor in ours]
    return done.returncode, texts[0], texts[1]


def read_all(descriptor: int) -> bytes:
    """Read to the end. Linux reports the end of a terminal as an error."""
    parts = []
    with suppress(OSError):
        while part := os.read(descriptor, 65536):
            parts.append(part)
    os.close(descriptor)
    return b"".join(parts)


def test_colours_are_printed_on_a_terminal_only(terminal: Terminal) -> None:
    line = r"printf '\e[31mred\e[0m \e]0;title\a\n'; (exit 4)"
    code, out, err = run_on_terminals(
        terminal, "run", "-p", terminal.pane, "--", line, stdout=True, stderr=False
    )
    assert (code, err) == (4, b"")
    assert b"\x1b[31mred\x1b[0m" in out
    assert b"title" not in out
    assert terminal.run("--", line) == (4, "red \n", "")


def test_progress_is_shown_where_stderr_is_a_terminal_and_the_output_goes_elsewhere(
    terminal: Terminal,
) -> None:
    argv = ("run", "-p", terminal.pane, "--", "sleep 3; echo done")
    code, out, err = run_on_terminals(terminal, *argv, stdout=False, stderr=True)
    assert (code, out) == (0, b"done\n")
    assert b" runs, " in err
    assert err.endswith(b"\r\x1b[K")
    assert run_on_terminals(terminal, *argv, stdout=False, stderr=False) == (0, b"done\n", b"")
