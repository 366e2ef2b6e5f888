"""`muxpilot tools`, `call` and `doctor`."""

from __future__ import annotations

import asyncio
import json
import platform
import re
from pathlib import Path
from typing import Any

import pytest

from muxpilot import __version__
from muxpilot.config.scope import Scope
from muxpilot.dialects import dialect_of
from muxpilot.tmux.servers import TmuxServers
from muxpilot.tools import TOOLS
from tests.cli.conftest import LIMIT_S, Run, old_tmux, start
from tests.rigs.engine import wait_until
from tests.rigs.wire import Place


@pytest.mark.parametrize("scope", [None, *(scope.value for scope in Scope)])
def test_tools_lists_the_tools_of_a_scope(run: Run, scope: str | None) -> None:
    flags = ["--scope", scope] if scope else []
    code, out, err = run("tools", *flags)
    assert (code, err) == (0, "")
    asked = Scope(scope or "agentic")
    dialect = dialect_of(asked, TmuxServers("/tmp/mx-none/s"))
    wanted = [tool.exposed_name for tool in (dialect.tools if dialect else TOOLS) if asked in tool.scopes]
    assert [line.split()[0] for line in out.splitlines()] == wanted
    assert all(len(line.split()) > 1 for line in out.splitlines())


def test_a_flag_stands_before_a_command_or_after_it(run: Run) -> None:
    assert run("--scope", "all", "tools") == run("tools", "--scope", "all")
    assert run("--scope", "all", "tools", "--scope", "agentic") == run("tools")


async def test_tools_as_json_is_what_a_client_is_listed(run: Run, place: Place) -> None:
    code, out, _ = run("tools", "--json")
    assert code == 0
    async with place.serve() as wire:
        await wire.shake_hands()
        assert json.loads(out) == await wire.result("tools/list")


def test_a_call_prints_the_answer(run: Run, place: Place) -> None:
    code, out, err = run("--socket", place.socket, "call", "create-session", '{"name": "by-hand"}')
    assert (code, err) == (0, "")
    assert json.loads(out)["sessionName"] == "by-hand"
    assert "by-hand" in place.tmux("list-sessions", "-F", "#{session_name}").splitlines()
    code, out, err = run("call", "list-sessions", "--socket", place.socket)
    assert [row["name"] for row in json.loads(out)["sessions"]] == ["by-hand"]


def test_a_cursor_of_one_call_is_good_in_the_next(run: Run, place: Place) -> None:
    def call(tool: str, **arguments: object) -> dict[str, Any]:
        code, out, err = run("--socket", place.socket, "call", tool, json.dumps(arguments))
        assert (code, err) == (0, "")
        answer: dict[str, Any] = json.loads(out)
        return answer

    def wait_for_text(pane: str, text: str) -> None:
        asyncio.run(wait_until(lambda: text in place.tmux("capture-pane", "-p", "-t", pane)))

    ours = call("create-session", name="ours", command="echo one; read x; echo two; exec sleep 60")
    theirs = place.tmux(
        *("new-session", "-d", "-s", "theirs", "-P", "-F", "#{pane_id}"),
        "printf 'one\\n>>'; read x; echo two; exec sleep 60",
    )
    for pane, last_line in ((ours["paneId"], "two"), (theirs.strip(), ">>\ntwo")):
        wait_for_text(pane, "one")
        first = call("read-pane", paneId=pane)
        assert first["text"].startswith("one")
        place.tmux("send-keys", "-t", pane, "Enter")
        wait_for_text(pane, "two")
        new = call("read-pane", paneId=pane, since=first["cursor"])
        assert (new["text"].removeprefix("\n"), new["missedLines"]) == (last_line, 0)


def test_a_call_reaches_tools_of_every_scope_unless_one_is_named(run: Run, place: Place) -> None:
    code, out, _ = run("--socket", place.socket, "call", "list-servers")
    assert (code, json.loads(out)["servers"][0]["socket"]) == (0, place.socket)
    code, out, err = run("--socket", place.socket, "--scope", "agentic", "call", "list-servers")
    assert (code, out) == (2, "")
    assert err.startswith("muxpilot: There is no tool 'list-servers'.")


def test_a_call_that_fails_says_why_on_stderr(run: Run, place: Place) -> None:
    code, out, err = run("--socket", place.socket, "call", "kill-pane", '{"paneId": "%9"}')
    assert (code, out) == (1, "")
    assert err.startswith("No tmux server is running on ")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("{", "The arguments are not JSON"),
        ("[]", "The arguments are not a JSON object"),
        ("3", "The arguments are not a JSON object"),
    ],
)
def test_arguments_that_are_none_are_refused(run: Run, place: Place, given: str, words: str) -> None:
    code, out, err = run("--socket", place.socket, "call", "list-sessions", given)
    assert (code, out) == (2, "")
    assert err.startswith(f"muxpilot: {words}")
    assert err.count("\n") == 1


def test_the_log_shows_the_steps_of_a_call_on_stderr(place: Place) -> None:
    arguments = ("--socket", place.socket, "call", "create-session", '{"name": "seen"}')
    done = start(*arguments, MUXPILOT_LOG="debug")
    assert done.returncode == 0
    assert json.loads(done.stdout)["sessionName"] == "seen"
    lines = done.stderr.decode().splitlines()
    assert all(line.startswith("muxpilot ") for line in lines)
    for area in ("calls", "tmux", "policy"):
        assert any(f" debug {area}: " in line for line in lines)
    limited = start(*arguments, "--log-level", "debug:calls").stderr.decode().splitlines()
    assert limited
    assert all(" debug calls: " in line for line in limited)


def test_an_unknown_tool_is_refused_with_where_to_look(run: Run, place: Place) -> None:
    code, _, err = run("--socket", place.socket, "call", "no-such")
    assert code == 2
    assert err == "muxpilot: There is no tool 'no-such'. Use muxpilot tools to list the tools.\n"


def test_doctor_finds_everything_in_place(run: Run, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muxpilot.cli.doctor._PATIENCE_S", LIMIT_S)  # the machine may be busy
    place.tmux("new-session", "-d")
    code, out, err = run("--socket", place.socket, "doctor")
    assert (code, err) == (0, "")
    assert all(line.startswith("ok ") for line in out.splitlines())
    for words in (
        f"muxpilot {__version__}",
        platform.platform(),
        "tmux 3.",
        f"tmux server on {place.socket}: 1 session",
        "shells",
    ):
        assert words in out


def test_doctor_needs_no_server_to_be_running(run: Run, place: Place) -> None:
    code, out, _ = run("--socket", place.socket, "doctor")
    assert code == 0
    assert f"no tmux server runs on {place.socket}; creating a session starts one" in out


def test_doctor_says_that_tmux_is_missing_and_what_to_do(run: Run, place: Place, programs: Path) -> None:
    code, out, _ = run("--socket", place.socket, "doctor")
    assert code == 1
    assert "FAIL  There is no program 'tmux' on this machine. Install tmux 3.2 or newer" in out


def test_doctor_says_that_tmux_is_too_old(run: Run, place: Place, programs: Path) -> None:
    old_tmux(programs)
    code, out, _ = run("--socket", place.socket, "doctor")
    assert code == 1
    assert "FAIL  tmux 3.1c is too old: muxpilot needs tmux 3.2 or newer. Install" in out


def test_doctor_says_that_tmux_does_not_answer_and_what_to_do(run: Run, place: Place) -> None:
    place.tmux("new-session", "-d")
    with place.tmux_stopped():
        code, out, _ = run("--socket", place.socket, "doctor")
    assert code == 1
    assert f"FAIL  tmux server on {place.socket} does not answer. If it is stopped, continue" in out


def test_doctor_says_that_a_socket_is_none(run: Run, place: Place) -> None:
    Path(place.socket).write_text("")
    code, out, _ = run("--socket", place.socket, "doctor")
    assert code == 1
    assert f"FAIL  tmux server on {place.socket}: {place.socket} is not a socket. Give the path" in out


def test_doctor_checks_the_servers_of_the_configuration(
    run: Run, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muxpilot.cli.doctor._PATIENCE_S", LIMIT_S)
    Path("c.toml").write_text(
        f'[servers.idle]\nsocket = "{tmp_path}/s"\n[servers.gone]\nexec = ["no-such-program"]\n'
    )
    code, out, _ = run("--config", "c.toml", "--socket", place.socket, "doctor")
    assert code == 1
    assert f"ok    idle: no tmux server runs on {tmp_path}/s;" in out
    assert "FAIL  gone: tmux server on the default socket by exec no-such-program: There is no program" in out


def test_doctor_says_which_server_of_the_configuration_is_wrong(run: Run, place: Place) -> None:
    Path("c.toml").write_text('[servers.far]\nssh = "-t host"\n')
    code, out, _ = run("--config", "c.toml", "--socket", place.socket, "doctor")
    assert code == 1
    assert re.search(r"^FAIL  c\.toml:2: servers\.far\.ssh: ", out, re.M)
    assert "ok    no audit log" in out
