"""What `muxpilot install` writes, read by the clients themselves: they list the server and connect to it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from muxpilot.mcp_clients.table import CLIENTS
from tests.rigs.node_programs import INSTALL_LIMIT_S, coding_agent

LIMIT_S = 100  # Gemini takes 8 s on an idle machine
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
# The client, the flags of install, the client's words that list servers, and what it says of ours.
ROWS = [
    ("claude", [], ["mcp", "list"], "Pending approval"),
    ("claude", ["--user"], ["mcp", "list"], "Connected"),
    ("codex", [], ["mcp", "list"], "enabled"),
    ("opencode", [], ["mcp", "list"], "connected"),
    ("opencode", ["--user"], ["mcp", "list"], "connected"),
    ("gemini", [], ["mcp", "list"], "Connected"),
    ("gemini", ["--user"], ["mcp", "list"], "Connected"),
    ("qwen", [], ["mcp", "list"], "Pending approval"),
    ("qwen", ["--user"], ["mcp", "list"], "Connected"),
    ("droid", [], ["mcp", "list"], "connected"),
    ("droid", ["--user"], ["mcp", "list"], "connected"),
    ("copilot", [], ["mcp", "list"], "muxpilot (local)"),
    ("copilot", ["--user"], ["mcp", "list"], "muxpilot (local)"),
    ("amp", [], ["mcp", "list"], "muxpilot  command"),
    ("amp", ["--user"], ["mcp", "list"], "muxpilot  command"),
    ("auggie", [], ["mcp", "list"], "muxpilot"),
    ("cline", [], ["config", "mcp"], "muxpilot [stdio]"),
]


def trust_folder(home: Path, folder: Path) -> None:
    """Say yes in advance to what Gemini and Copilot ask a person."""
    files = {
        ".gemini/trustedFolders.json": {str(folder): "TRUST_FOLDER"},
        ".copilot/config.json": {"trustedFolders": [str(folder)]},
    }
    for name, content in files.items():
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(json.dumps(content))


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs a program in a folder with a home of its own, and returns its output."""
    home, folder = tmp_path / "home", tmp_path / "work"
    folder.mkdir()
    trust_folder(home, folder)
    scripts = Path(sys.executable).parent
    env = {"HOME": str(home), "PATH": f"{scripts}:{os.environ['PATH']}", "NO_COLOR": "1"}

    def call(*argv: str | Path) -> str:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
            env=env | {"TMUX_TMPDIR": str(tmp_path)},
            cwd=folder,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return ESCAPES.sub("", done.stdout + done.stderr)

    return call


def test_every_client_with_a_command_line_is_tried() -> None:
    without = {"cursor", "vscode", "claude-desktop", "zed", "windsurf", "goose"}
    assert {client for client, *_ in ROWS} == set(CLIENTS) - without


@pytest.mark.timeout(INSTALL_LIMIT_S + 4 * LIMIT_S)
@pytest.mark.parametrize(("client", "flags", "listing", "words"), ROWS)
def test_the_client_lists_the_server_that_install_wrote(
    call: Callable[..., str], client: str, flags: list[str], listing: list[str], words: str
) -> None:
    agent = coding_agent(client)
    if isinstance(agent, str):
        pytest.skip(agent)
    call(sys.executable, "-m", "muxpilot", "install", client, *flags)
    told = call(agent, *listing)
    assert "muxpilot" in told
    assert words in told
    call(sys.executable, "-m", "muxpilot", "install", client, *flags, "--uninstall")
    assert words not in call(agent, *listing)


@pytest.mark.timeout(INSTALL_LIMIT_S + 4 * LIMIT_S)
def test_what_codex_writes_itself_is_accepted(call: Callable[..., str], tmp_path: Path) -> None:
    agent = coding_agent("codex")
    if isinstance(agent, str):
        pytest.skip(agent)
    call(agent, "mcp", "add", "muxpilot", "--", str(Path(sys.executable).parent / "muxpilot"))
    before = (tmp_path / "home/.codex/config.toml").read_text()
    call(sys.executable, "-m", "muxpilot", "install", "codex")
    after = (tmp_path / "home/.codex/config.toml").read_text()
    assert after == before.rstrip("\n") + '\nenv_vars = ["TMUX", "TMUX_PANE", "TMUX_TMPDIR"]\n'
