"""What `muxpilot install` writes, read by the clients themselves: they list the server and connect to it."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from muxpilot.mcp_clients.table import CLIENTS
from tests.packaging.conftest import LIMIT_S
from tests.rigs.node_programs import INSTALL_LIMIT_S, coding_agent

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
