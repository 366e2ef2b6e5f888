"""Configuration, policy and audit from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muxpilot.config.presets import PRESETS
from tests.cli.conftest import Run
from tests.rigs.wire import Place

TOML = """\
[security]
allow_kill = false
allowed_sessions = ["dev"]
[security.command_filter]
mode = "denylist"
patterns = ["^rm\\\\b"]
"""


@pytest.fixture(autouse=True)
def configured(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(TOML)


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "words"),
    [
        ("list-panes", {}, 0, "allow: no rule denies it"),
        ("kill-pane", {}, 1, "deny: security.allow_kill: the tool is not allowed"),
        (
            "create-session",
            {"name": "other"},
            1,
            "deny: security.allowed_sessions: session other is not in it",
        ),
        ("create-session", {"name": "dev"}, 0, "allow: no rule denies it"),
        (
            "create-session",
            {"name": "dev", "command": "ls; rm x"},
            1,
            "deny: security.command_filter: 'rm x' is",
        ),
        ("create-session", {"name": "dev", "command": "sh -c ls"}, 0, "allow: no rule denies it"),
        ("send-keys", {"paneId": "%9", "keys": "x"}, 1, "deny: it would fail: "),
    ],
)
def test_explain_says_allow_or_deny_first_and_then_the_key(
    run: Run, place: Place, tool: str, arguments: dict[str, str], code: int, words: str
) -> None:
    argv = ("--config", "c.toml", "--socket", place.socket, "policy", "explain", tool, json.dumps(arguments))
    found, out, err = run(*argv)
    assert (found, err) == (code, "")
    assert out.startswith(words)
    assert out.count("\n") == 1


def test_explain_does_nothing(run: Run, place: Place) -> None:
    argv = (
        "policy",
        "explain",
        "create-session",
        '{"name": "dev"}',
        "--config",
        "c.toml",
        "--audit",
        "a.log",
    )
    assert run("--socket", place.socket, *argv)[0] == 0
    assert '"sessions":[]' in run("--socket", place.socket, "call", "list-sessions")[1]
    assert not Path("a.log").exists()


def test_explain_without_rules_and_with_security_off(run: Run, place: Place) -> None:
    Path("off.toml").write_text("[security]\nenabled = false\nallow_kill = false\n")
    argv = ("--socket", place.socket, "policy", "explain", "list-panes")
    assert run(*argv)[1] == "allow: no rule denies it\n"
    assert run("--config", "off.toml", *argv)[1] == "allow: security.enabled is false\n"


def test_explain_without_arguments_is_about_the_tool(run: Run, place: Place) -> None:
    Path("tame.toml").write_text("[security]\nallow_kill = false\n")
    argv = ("--socket", place.socket, "policy", "explain", "kill-pane")
    words = "allow: no rule denies the tool; give arguments to judge a call\n"
    assert run(*argv) == (0, words, "")
    assert run("--config", "tame.toml", *argv) == (
        1,
        "deny: security.allow_kill: the tool is not allowed\n",
        "",
    )
    assert run(*argv, "{}")[0] == 2, "arguments that are given are judged"


@pytest.mark.parametrize("tool", ["no-such-tool", "server-info"])
def test_explain_of_what_is_no_tool_is_refused(run: Run, place: Place, tool: str) -> None:
    code, out, err = run("--socket", place.socket, "policy", "explain", tool)
    assert (code, out) == (2, "")
    assert "There is no tool" in err


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        (
            "[security]\nallow_kil = true\n",
            "bad.toml:2: security.allow_kil is not a key. Did you mean allow_kill?",
        ),
        ("[security]\nallow_kill = 1\n", "bad.toml:2: security.allow_kill must be true or false."),
        (
            "[security.tools]\n\nitems = ['@nope']\n",
            "bad.toml:3: security.tools.items: there is no tool or group",
        ),
        (
            "[security.command_filter]\npatterns = ['(']\n",
            "bad.toml:2: security.command_filter.patterns: '(' is not a pattern.",
        ),
        (
            "[security.command_filter]\nask_patterns = ['(']\n",
            "bad.toml:2: security.command_filter.ask_patterns: '(' is not a pattern.",
        ),
        ('[ssh]\nremote = "x \'y"\n', "bad.toml:2: ssh.remote: The ssh destination"),
        ("[audit]\npath = ''\n", "bad.toml:2: audit.path is empty."),
        ("[audit]\npath = '/none/x'\n", "The audit log /none/x cannot be written"),
    ],
)
def test_a_bad_configuration_ends_the_program_with_one_clear_line(
    run: Run, place: Place, toml: str, words: str
) -> None:
    Path("bad.toml").write_text(toml)
    code, out, err = run("--config", "bad.toml", "--socket", place.socket, "call", "list-sessions")
    assert (code, out) == (2, "")
    assert err.startswith(f"muxpilot: {words}")
    assert err.count("\n") == 1


def test_patterns_that_do_nothing_are_warned_of(
    run: Run, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    Path("off.toml").write_text("[security.command_filter]\npatterns = ['^rm']\n")
    code, out, _ = run("--config", "off.toml", "--socket", place.socket, "policy", "explain", "list-panes")
    assert (code, out) == (0, "allow: no rule denies the tool; give arguments to judge a call\n")
    assert "off.toml:2: security.command_filter.patterns does nothing: mode is off." in caplog.text


def test_a_bad_destination_is_told_by_what_gave_it(
    run: Run, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("bad.toml").write_text("[ssh]\nremote = 'host'\n")
    argv = ("--config", "bad.toml", "--socket", place.socket)
    assert run(*argv, "--ssh", "x 'y", "call", "list-sessions")[2].startswith("muxpilot: --ssh: The ssh dest")
    monkeypatch.setenv("TMUX_MCP_SSH", "x 'y")
    assert run(*argv, "call", "list-sessions")[2].startswith("muxpilot: TMUX_MCP_SSH: The ssh dest")


def test_tools_lists_only_what_is_allowed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "kill-pane" in run("tools")[1]
    assert "kill-pane" not in run("tools", "--config", "c.toml")[1]
    monkeypatch.setenv("TMUX_MCP_TOOLS", "allow:list-panes")
    assert run("tools")[1].split()[0] == "list-panes"
    monkeypatch.setenv("TMUX_MCP_TOOLS", "allow:")
    assert run("tools") == (0, "", "")


def test_doctor_shows_what_is_in_force(run: Run, place: Place) -> None:
    code, out, _ = run("--config", "c.toml", "--socket", place.socket, "doctor", "--audit", "a.log")
    assert code == 0
    for words in (
        "config c.toml",
        "policy: security.allow_kill closes 4 tools: kill-session, kill-window, kill-pane, detach-client",
        "policy: security.allowed_sessions: dev",
        "policy: security.command_filter: denylist, patterns: 1",
        "audit: a.log",
    ):
        assert f"ok    {words}\n" in out
    assert "ok    policy: everything is allowed\n" in run("--socket", place.socket, "doctor")[1]


@pytest.mark.parametrize("preset", PRESETS)
def test_doctor_says_which_preset_is_in_force_and_what_it_means(run: Run, place: Place, preset: str) -> None:
    Path("c.toml").write_text(f'[security]\npreset = "{preset}"\n')
    _, out, _ = run("--config", "c.toml", "--socket", place.socket, "doctor")
    lines = out.splitlines()
    assert f"ok    policy: security.preset is {preset}" in lines
    told = [line for line in lines if line.startswith(f"ok    policy: {preset}: ")]
    assert told == [f"ok    policy: {preset}: {words}" for words in PRESETS[preset].meaning]
    assert 0 < len(told) <= 5


def test_doctor_says_where_the_file_changes_its_preset(run: Run, place: Place) -> None:
    Path("c.toml").write_text('[security]\npreset = "guarded"\nredact = false\n')
    _, out, _ = run("--config", "c.toml", "--socket", place.socket, "doctor")
    words = "guarded: not as above, because the file sets it itself: security.redact\n"
    assert f"ok    policy: {words}" in out


def test_doctor_tells_of_a_config_that_is_not_good_and_of_all_the_rest(
    run: Run, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("bad.toml").write_text("[security]\nallow_kil = true\n")
    monkeypatch.setenv("TMUX_MCP_CONFIG", "bad.toml")
    code, out, err = run("--socket", place.socket, "doctor")
    assert (code, err) == (1, "")
    assert "FAIL  config bad.toml:2: security.allow_kil is not a key. Did you mean allow_kill?" in out
    assert f"ok    no tmux server runs on {place.socket}" in out
    assert "policy: everything is allowed" not in out


def test_doctor_tells_of_a_log_that_cannot_be_written(run: Run, place: Place) -> None:
    code, out, _ = run("--socket", place.socket, "doctor", "--audit", "/none/x")
    assert code == 1
    assert "FAIL  The audit log /none/x cannot be written" in out


def test_calls_from_the_shell_are_judged_and_written_down(run: Run, place: Place) -> None:
    argv = ("--config", "c.toml", "--audit", "a.log", "--socket", place.socket, "call")
    code, out, err = run(*argv, "create-session", '{"name": "other"}')
    assert (code, out) == (1, "")
    assert err.startswith(
        "create-session is denied by security.allowed_sessions: session other is not in it."
    )
    [line] = Path("a.log").read_text().splitlines()
    assert json.loads(line)["error"] == "denied"


def test_install_writes_the_policy_and_the_log_along(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("--config", "c.toml", "--audit", "a.log", "install", "claude", "--print")
    assert code == 0
    args = json.loads(out)["mcpServers"]["muxpilot"]["args"]
    assert args[-4:] == ["--config", str(tmp_path / "c.toml"), "--audit", str(tmp_path / "a.log")]
