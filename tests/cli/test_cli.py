"""The command line, as a person and as a client's configuration use it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from muxpilot import __version__
from muxpilot.cli.arguments import CLIENTS as OFFERED
from muxpilot.config.flags import load_settings
from muxpilot.config.model import MIB, SHELL_TYPES
from muxpilot.config.scope import Scope
from muxpilot.errors import BadInput
from muxpilot.mcp_clients.table import CLIENTS
from muxpilot.tools import TOOLS
from tests.cli.conftest import LIMIT_S, Run, old_tmux, start
from tests.rigs.wire import Place

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


# Flags and environment


@pytest.mark.parametrize(
    ("environment", "flags", "wanted"),
    [
        ({}, {}, (Scope.AGENTIC, None, "auto")),
        ({"TMUX_MCP_SCOPE": "all", "TMUX_MCP_SOCKET": "/tmp/e"}, {}, (Scope.ALL, "/tmp/e", "auto")),
        ({"TMUX_MCP_SCOPE": "all"}, {"scope": "primitives"}, (Scope.PRIMITIVES, None, "auto")),
        ({"TMUX_MCP_SOCKET": "/tmp/e"}, {"socket": "/tmp/f"}, (Scope.AGENTIC, "/tmp/f", "auto")),
        ({"TMUX_MCP_SCOPE": "", "TMUX_MCP_SOCKET": ""}, {}, (Scope.AGENTIC, None, "auto")),
        ({"TMUX_MCP_SCOPE": "nonsense"}, {"scope": "all"}, (Scope.ALL, None, "auto")),
        ({}, {"shell_type": "fish"}, (Scope.AGENTIC, None, "fish")),
    ],
)
def test_a_flag_wins_over_its_variable(
    environment: dict[str, str], flags: dict[str, Any], wanted: tuple[Any, ...]
) -> None:
    chosen = load_settings(environment, **flags)
    assert (chosen.scope, chosen.socket, chosen.shell_type) == wanted


@pytest.mark.parametrize("flag", ["scope", "socket", "ssh", "config", "audit", "audit-full", "log-level"])
def test_an_empty_flag_is_refused_and_never_means_none(run: Run, flag: str) -> None:
    """Refuse it: a script's unset variable would silently leave out the policy."""
    for argv in ([f"--{flag}", ""], ["call", "list-sessions", f"--{flag}="]):
        assert run(*argv) == (2, "", f"muxpilot: --{flag} is empty. Give it a value, or leave it out.\n")


@pytest.mark.parametrize("command", [(), ("doctor",), ("tools",), ("call", "list-sessions")])
def test_a_bad_log_level_ends_every_command_with_what_is_allowed(run: Run, command: tuple[str, ...]) -> None:
    code, out, err = run("--log-level", "loud", *command)
    assert (code, out) == (2, "")
    assert err.startswith(
        "muxpilot: --log-level: 'loud' is not a log level. Use one of: warning, info, debug"
    )


@pytest.mark.parametrize("name", ["Agentic", "agentic ", "everything", "*"])
def test_another_scope_is_refused_with_the_ones_there_are(name: str) -> None:
    with pytest.raises(BadInput, match="Use one of: agentic, primitives, all"):
        load_settings({}, scope=name)


@pytest.mark.parametrize(
    ("argv", "variables"),
    [
        (["--scope", "no"], {}),
        (["tools", "--scope", "no"], {}),
        (["doctor"], {"TMUX_MCP_SCOPE": "no"}),
        (["call", "list-panes"], {"TMUX_MCP_SCOPE": "no"}),
    ],
)
def test_a_bad_scope_ends_the_program_with_one_clear_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, argv: list[str], variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert err.startswith("muxpilot: 'no' is not a scope. Use one of: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "argv",
    [
        *(["--no-such-flag"], ["no-such-command"], ["--shell-type", "csh"], ["install", "emacs"], ["call"]),
        *(["--scope=--"], ["--ssh=--"], ["call", "list-panes", "--socket=--"], ["view", "--port=--"]),
    ],
)
def test_what_the_command_line_has_not_is_refused(run: Run, argv: list[str]) -> None:
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert "usage: muxpilot" in err


def test_the_version_is_told(run: Run) -> None:
    assert run("--version") == (0, f"muxpilot {__version__}\n", "")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (
            ["--help"],
            ["--scope", "TMUX_MCP_SCOPE", "--socket", "TMUX_MCP_SOCKET", "--shell-type", *SHELL_TYPES],
        ),
        (["--help"], ["doctor", "tools", "call", "install", *(scope.value for scope in Scope)]),
        (["install", "--help"], [*CLIENTS, "--print"]),
        (["call", "--help"], ["TOOL", "JSON"]),
        (["tools", "--help"], ["--json", "--scope"]),
    ],
)
def test_help_names_everything(run: Run, argv: list[str], words: list[str]) -> None:
    code, out, err = run(*argv)
    assert (code, err) == (0, "")
    assert [word for word in words if word not in out] == []


def test_the_parser_offers_the_clients_there_are() -> None:
    assert set(OFFERED) == set(CLIENTS)


# Serving


def test_a_scope_and_a_socket_from_the_environment_are_what_is_served(place: Place) -> None:
    lines = [
        HELLO,
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": "tmux://server/info"}},
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "muxpilot"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"TMUX_MCP_SCOPE": "primitives", "TMUX_MCP_SOCKET": place.socket},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        answers = {}
        for line in lines:
            process.stdin.write(json.dumps(line).encode() + b"\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            answers[answer["id"]] = answer["result"]
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(LIMIT_S) == 0
    offered = [tool.name for tool in TOOLS if Scope.PRIMITIVES in tool.scopes]
    assert [row["name"] for row in answers[2]["tools"]] == offered
    assert json.loads(answers[3]["contents"][0]["text"])["socket"] == place.socket


def test_no_tmux_is_told_at_the_start(programs: Path) -> None:
    done = start()
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        "muxpilot: There is no program 'tmux' on this machine. Install tmux 3.2 or newer.\n"
    )


def test_none_is_needed_here_where_it_is_on_another_host(
    run: Run, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMUX_MCP_SSH", "nowhere.invalid")
    done = start()
    assert (done.returncode, done.stderr) == (0, b"")
    assert "The tmux of the other host is used." in run("doctor")[1]


def test_a_tmux_that_is_too_old_is_told_at_the_start(programs: Path) -> None:
    old_tmux(programs)
    done = start()
    assert (done.returncode, done.stdout) == (2, b"")
    words = done.stderr.decode()
    assert words.startswith("muxpilot: tmux 3.1c is too old: muxpilot needs tmux 3.2 or newer.")
    assert words.count("\n") == 1


def test_a_tmux_that_hangs_or_does_not_run_is_told(
    run: Run, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muxpilot.tmux.version._VERSION_TIMEOUT_S", 0.2)
    shim = programs / "tmux"
    scripts = {"#!/bin/sh\nkill -STOP $$\n": "no answer within 0.2 s", "": "Exec format error"}
    for script, reason in scripts.items():
        shim.write_text(script)
        shim.chmod(0o755)
        words = f"FAIL  The program 'tmux' does not report its version: {reason}. Install"
        assert words in run("doctor")[1]


def test_doctor_tells_where_output_is_kept_and_whether_there_is_room(
    run: Run, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disk_with(free: int) -> Callable[[object], SimpleNamespace]:
        return lambda path: SimpleNamespace(f_bavail=free, f_frsize=MIB)

    expected = {
        0: "FAIL  output of panes is kept in ",
        100: "100 MiB free there, and up to 512 MiB wanted\n",
        600: "600 MiB free there\n",
    }
    for free, words in expected.items():
        monkeypatch.setattr("muxpilot.cli.doctor.os.statvfs", disk_with(free))
        assert words in run("--socket", place.socket, "doctor")[1]
    Path("c.toml").write_text("[tracking]\njournal = false\n")
    assert "is kept in memory only" in run("--config", "c.toml", "--socket", place.socket, "doctor")[1]


@pytest.mark.parametrize(
    ("socket", "words"),
    [("x" * 200, "longer than"), ("a\nb", "is not a socket path")],
)
def test_a_socket_that_can_be_none_is_told_at_the_start(socket: str, words: str) -> None:
    done = start("--socket", socket)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"muxpilot: ")
    assert words in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_stdin_or_stdout_it_says_what_is_wrong(closed: str) -> None:
    command = f"{sys.executable} -m muxpilot {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, timeout=LIMIT_S, check=False, input=b"")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"muxpilot: stdin or stdout is closed.")


def test_an_empty_stdin_is_a_client_that_has_left(place: Place) -> None:
    done = start("--socket", place.socket)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_run_by_hand_it_says_what_it_is(place: Place) -> None:
    leader, follower = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "muxpilot", "--socket", place.socket],
            stdin=follower,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
    finally:
        os.close(leader)
        os.close(follower)
    assert (done.returncode, done.stdout) == (0, b"")
    for words in ("is an MCP server", "muxpilot install claude", "muxpilot doctor", "muxpilot call"):
        assert words in done.stderr.decode()
