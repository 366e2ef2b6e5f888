"""`policy explain` gives the verdict of a real call: its panes, its file, a missing target."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.rigs.policies import PolicyPlace, place_with_sessions

Explain = Callable[..., tuple[int, str]]

DENIES_AND_ASKS = r"""
[security.command_filter]
mode = "denylist"
patterns = ['^rm\b.* -[a-zA-Z]*[rR]']
ask_patterns = ['^git\b.*\bpush\b']
"""


@pytest.fixture
def place() -> Iterator[PolicyPlace]:
    """Yield a tmux with the sessions `dev` (%0, %1 and %2) and `other` (%3)."""
    with place_with_sessions() as place:
        yield place


@pytest.fixture
def explain(run: Run, place: PolicyPlace) -> Explain:
    def explain(toml: str, tool: str, **arguments: Any) -> tuple[int, str]:
        Path("c.toml").write_text(f"[security]\n{toml}\n")
        options = ("--config", "c.toml", "--socket", place.socket)
        code, out, err = run(*options, "policy", "explain", tool, json.dumps(arguments))
        assert (err, out.count("\n")) == ("", 1)
        return code, out

    return explain


@pytest.mark.parametrize(
    ("toml", "panes", "words"),
    [
        ('allowed_sessions = ["dev"]', ["%0", "%2"], "allow: no rule denies it\n"),
        (
            'allowed_sessions = ["dev"]',
            ["%0", "%3"],
            "deny: security.allowed_sessions: session $1 is not in it, for pane %3\n",
        ),
        (
            'allowed_panes = ["%0"]',
            ["%0", "%1", "other:0.0"],
            "deny: security.allowed_panes: it would reach %1, which is not in it, for pane %1; "
            "security.allowed_panes: it would reach %3, which is not in it, for pane other:0.0\n",
        ),
        ('allowed_panes = ["%0"]', ["%0", "%99"], "deny: it would fail: Pane '%99' not found."),
        ("", ["%0", "%99"], "allow: no rule denies it; it would fail: Pane '%99' not found."),
        ("allow_execute_command = false", ["%0"], "deny: security.allow_execute_command: the tool is not"),
    ],
)
def test_every_pane_of_run_on_is_judged(explain: Explain, toml: str, panes: list[str], words: str) -> None:
    code, out = explain(toml, "run-on", command="true", panes=[{"paneId": pane} for pane in panes])
    assert out.startswith(words)
    assert code == (0 if words.startswith("allow") else 1)


def test_a_pane_of_run_on_is_judged_on_its_own_server(explain: Explain, place: PolicyPlace) -> None:
    panes = [{"paneId": "%0"}, {"paneId": "%0", "socket": f"{place.socket}x"}]
    code, out = explain(f'allowed_sockets = ["{place.socket}"]', "run-on", command="true", panes=panes)
    assert code == 1
    assert out.startswith("deny: security.allowed_sockets: ")
    assert out.endswith(f"for pane %0 on {place.socket}x\n")


SAVING = [
    ("save-buffer", {"name": "b"}, "txt"),
    ("load-buffer", {"name": "b"}, "txt"),
    ("screenshot-pane", {"paneId": "%0"}, "png"),
    ("record-pane", {"paneId": "%0", "action": "start"}, "cast"),
]


@pytest.mark.parametrize(("tool", "arguments", "suffix"), SAVING)
def test_a_path_is_judged_by_the_folders_that_are_allowed(
    explain: Explain, tmp_path: Path, tool: str, arguments: dict[str, str], suffix: str
) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "out").symlink_to(tmp_path)
    toml = f'allowed_buffer_paths = ["{allowed}"]'
    assert explain(toml, tool, path=f"{allowed}/x.{suffix}", **arguments)[1] == "allow: no rule denies it\n"
    for path in (f"{tmp_path}/x.{suffix}", f"{allowed}/../x.{suffix}", f"{allowed}/out/x.{suffix}"):
        code, out = explain(toml, tool, path=path, **arguments)
        assert code == 1
        assert out.startswith(f"deny: security.allowed_buffer_paths: The path '{path}' ")
    assert sorted(item.name for item in allowed.iterdir()) == ["out"]


def test_a_path_that_no_rule_denies_may_still_be_none(explain: Explain) -> None:
    code, out = explain("", "screenshot-pane", paneId="%0", path="x.cast")
    assert (code, out) == (
        0,
        "allow: no rule denies it; it would fail: The path 'x.cast' must end in .png.\n",
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "missing"),
    [
        ("kill-pane", {"paneId": "%99"}, "Pane '%99' not found."),
        ("kill-window", {"windowId": "@99"}, "Window '@99' not found."),
        ("kill-session", {"sessionId": "$99"}, "Session '$99' not found."),
        ("kill-session", {"sessionId": "nobody"}, "Session 'nobody' not found."),
        ("swap-pane", {"sourcePaneId": "%0", "targetPaneId": "%99"}, "Pane '%99' not found."),
    ],
)
def test_a_target_that_is_not_there_is_told(
    explain: Explain, tool: str, arguments: dict[str, str], missing: str
) -> None:
    code, out = explain("", tool, **arguments)
    assert code == 0
    assert out.startswith(f"allow: no rule denies it; it would fail: {missing}")
    code, out = explain('allowed_sessions = ["dev"]', tool, **arguments)
    assert code == 1
    assert out.startswith(f"deny: it would fail: {missing}")


def test_a_target_is_told_missing_where_no_tmux_runs(run: Run, tmp_path: Path) -> None:
    argv = ("--socket", f"{tmp_path}/s", "policy", "explain", "kill-pane", '{"paneId": "%99"}')
    code, out, _ = run(*argv)
    assert code == 0
    assert out.startswith("allow: no rule denies it; it would fail: ")


@pytest.mark.parametrize(
    ("toml", "tool", "arguments", "words"),
    [
        ('ask = ["@kill"]', "kill-pane", {"paneId": "%0"}, "ask: security.ask: kill-pane must be allowed"),
        ('ask = ["@kill"]', "list-panes", {}, "allow: no rule denies it"),
        (
            'ask = ["@kill"]\nallow_kill = false',
            "kill-pane",
            {"paneId": "%0"},
            "deny: security.allow_kill: the tool is not allowed",
        ),
        (
            'ask = ["@kill"]',
            "respawn-pane",
            {"paneId": "%0", "kill": True},
            "ask: security.ask: it would kill what runs there",
        ),
        (
            '[security.command_filter]\nmode = "ask"\npatterns = ["^git push"]',
            "execute-command",
            {"paneId": "%0", "command": "true && git push"},
            "ask: security.command_filter: 'git push' must be allowed by a person",
        ),
        (
            DENIES_AND_ASKS,
            "execute-command",
            {"paneId": "%0", "command": "git -C lib push"},
            "ask: security.command_filter: 'git -C lib push' must be allowed by a person",
        ),
        (
            DENIES_AND_ASKS,
            "execute-command",
            {"paneId": "%0", "command": "git push && rm -rf x"},
            "deny: security.command_filter: 'rm -rf x' is in the denylist",
        ),
        (DENIES_AND_ASKS, "execute-command", {"paneId": "%0", "command": "ls"}, "allow: no rule denies it"),
        (
            'preset = "read-only"',
            "send-keys",
            {"paneId": "%0", "keys": "x"},
            "deny: security.preset: the tool",
        ),
        (
            'preset = "guarded"',
            "execute-command",
            {"command": "echo x | sudo tee /etc/motd"},
            "ask: security.preset: 'sudo tee /etc/motd' must be allowed by a person",
        ),
    ],
)
def test_what_a_person_must_allow_is_told_as_ask(
    explain: Explain, toml: str, tool: str, arguments: dict[str, Any], words: str
) -> None:
    code, out = explain(toml, tool, **arguments)
    assert out.startswith(words)
    assert code == {"allow": 0, "deny": 1, "ask": 3}[words.partition(":")[0]]
