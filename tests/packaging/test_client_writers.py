"""What clients write when they add muxpilot themselves: `muxpilot install` takes it for its own entry."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packaging.conftest import LIMIT_S
from tests.rigs.node_programs import INSTALL_LIMIT_S, coding_agent

PROGRAM = str(Path(sys.executable).parent / "muxpilot")
COMMAND = [PROGRAM, "--scope", "all"]
# The client, the flags of install, the file below the test's folder, and the words that add a server.
ROWS = [
    ("claude", [], "work/.mcp.json", ["mcp", "add", "-s", "project", "muxpilot", "--", *COMMAND]),
    ("claude", ["--user"], "home/.claude.json", ["mcp", "add", "-s", "user", "muxpilot", "--", *COMMAND]),
    ("gemini", [], "work/.gemini/settings.json", ["mcp", "add", "muxpilot", PROGRAM, "--", *COMMAND[1:]]),
    (
        "gemini",
        ["--user"],
        "home/.gemini/settings.json",
        ["mcp", "add", "-s", "user", "muxpilot", PROGRAM, "--", *COMMAND[1:]],
    ),
    (
        "qwen",
        [],
        "work/.qwen/settings.json",
        ["mcp", "add", "-s", "project", "muxpilot", PROGRAM, "--", *COMMAND[1:]],
    ),
    (
        "qwen",
        ["--user"],
        "home/.qwen/settings.json",
        ["mcp", "add", "-s", "user", "muxpilot", PROGRAM, "--", *COMMAND[1:]],
    ),
    ("copilot", ["--user"], "home/.copilot/mcp-config.json", ["mcp", "add", "muxpilot", "--", *COMMAND]),
    ("amp", [], "work/.amp/settings.json", ["mcp", "add", "muxpilot", "--workspace", "--", *COMMAND]),
    ("amp", ["--user"], "home/.config/amp/settings.json", ["mcp", "add", "muxpilot", "--", *COMMAND]),
    ("droid", ["--user"], "home/.factory/mcp.json", ["mcp", "add", "muxpilot", "--", *COMMAND]),
    (
        "auggie",
        [],
        "home/.augment/settings.json",
        ["mcp", "add", "muxpilot", "--command", PROGRAM, "--args", "--scope all"],
    ),
]
# These write less than install does: what is missing is added at the end of the entry.
SHORTER = [
    (
        "codex",
        "home/.codex/config.toml",
        [],
        '\nenv_vars = ["TMUX", "TMUX_PANE", "TMUX_TMPDIR"]\n',
    ),
    ("opencode", "home/.config/opencode/opencode.jsonc", ["--user"], '"enabled": true'),
]


def agent_or_skip(name: str) -> Path:
    agent = coding_agent(name)
    if isinstance(agent, str):
        pytest.skip(agent)
    return agent


@pytest.mark.timeout(INSTALL_LIMIT_S + 4 * LIMIT_S)
@pytest.mark.parametrize(("client", "flags", "file", "adding"), ROWS)
def test_what_a_client_writes_itself_is_what_install_writes(
    call: Callable[..., str], tmp_path: Path, client: str, flags: list[str], file: str, adding: list[str]
) -> None:
    call(agent_or_skip(client), *adding)
    before = (tmp_path / file).read_text()
    assert PROGRAM in before
    told = call(sys.executable, "-m", "muxpilot", "--scope", "all", "install", client, *flags)
    assert f"{tmp_path / file} has muxpilot already. Nothing was changed." in told
    assert (tmp_path / file).read_text() == before


@pytest.mark.timeout(INSTALL_LIMIT_S + 4 * LIMIT_S)
@pytest.mark.parametrize(("client", "file", "flags", "added"), SHORTER)
def test_what_is_missing_in_an_entry_of_the_client_is_added(
    call: Callable[..., str], tmp_path: Path, client: str, file: str, flags: list[str], added: str
) -> None:
    call(agent_or_skip(client), "mcp", "add", "muxpilot", "--", *COMMAND)
    before = (tmp_path / file).read_text()
    call(sys.executable, "-m", "muxpilot", "--scope", "all", "install", client, *flags)
    after = (tmp_path / file).read_text()
    assert added in after
    assert [line for line in before.splitlines() if line.rstrip(",") not in after] == []
    told = call(sys.executable, "-m", "muxpilot", "--scope", "all", "install", client, *flags)
    assert "already" in told
