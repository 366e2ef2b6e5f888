"""The official Inspector and the TypeScript SDK's clients use the server, if Node is available."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from muxpilot.config.scope import Scope
from muxpilot.server.prompts import PROMPTS
from muxpilot.tools import RESOURCES, TOOLS
from tests.rigs.node_programs import INSTALL_LIMIT_S, node_programs
from tests.rigs.wire import LIMIT_S, Place, command, private_place

# The first run installs, within a limit of its own; a client itself has LIMIT_S.
pytestmark = pytest.mark.timeout(2 * INSTALL_LIMIT_S)

Node = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def programs() -> Path:
    found = node_programs()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "seen", "exec cat")
        yield place


@pytest.fixture
def node(programs: Path) -> Node:
    """Run a program with the Node that was installed for it."""
    modules = programs / "node_modules"

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(modules / ".bin/node"), *argv],
            capture_output=True,
            text=True,
            timeout=2 * LIMIT_S,
            check=False,
            env=os.environ
            | {
                "PATH": f"{modules / '.bin'}:{os.environ['PATH']}",
                "NODE_SDK": str(modules / "@modelcontextprotocol/sdk"),
                "NODE_CLIENT": str(modules / "@modelcontextprotocol/client"),
            },
        )

    return run


PATIENT = ("--connect-timeout", "60000")  # ms; a busy machine takes longer than the default


@pytest.fixture
def inspect(node: Node, programs: Path, place: Place) -> Callable[..., Any]:
    """Return a function that makes one request with the Inspector."""
    inspector = programs / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"

    def run(method: str, *flags: str) -> Any:
        server = command("--socket", place.socket, "--scope", "all")
        done = node(str(inspector), "--cli", *server, "--method", method, *flags, *PATIENT)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_finds_every_schema_portable(inspect: Callable[..., Any], era: str) -> None:
    listed = inspect("tools/list", "--strict", "--protocol-era", era)
    assert [row["name"] for row in listed["tools"]] == [
        tool.name for tool in TOOLS if Scope.ALL in tool.scopes
    ]


def test_the_inspector_calls_a_tool(inspect: Callable[..., Any], place: Place) -> None:
    result = inspect("tools/call", "--tool-name", "list-panes", "--tool-arg", "sessionId=seen")
    assert [row["id"] for row in result["structuredContent"]["panes"]] == ["%0"]


def test_the_inspector_reads_a_resource(inspect: Callable[..., Any]) -> None:
    [content] = inspect("resources/read", "--uri", "tmux://pane/%0/info")["contents"]
    assert json.loads(content["text"])["id"] == "%0"


def test_the_inspector_gets_a_prompt(inspect: Callable[..., Any]) -> None:
    flags = ("--prompt-name", "run-and-report", "--prompt-args", "command=make")
    [message] = inspect("prompts/get", *flags)["messages"]
    assert "report on it: make" in message["content"]["text"]


@pytest.mark.parametrize("script", ["node_client.mjs", "node_client_2.mjs"], ids=["SDK 1.x", "SDK 2.x"])
def test_the_typescript_client_drives_the_server(node: Node, script: str) -> None:
    with private_place() as place:
        path = Path(__file__).parents[1] / "rigs" / script
        done = node(str(path), *command("--socket", place.socket))
        assert done.returncode == 0, done.stderr
        seen = json.loads(done.stdout)
    assert seen["server"] == "muxpilot"
    assert seen["tools"] == [tool.name for tool in TOOLS if Scope.AGENTIC in tool.scopes]
    assert seen["templates"] == sum("{" in row.template for row in RESOURCES)
    assert seen["prompts"] == list(PROMPTS)
    assert "hello from node" in seen["text"]
    assert seen["aborted"] == "aborted"
    assert seen["failure"][0] is True
    assert seen["failure"][1].startswith("Pane '%99' not found.")
    is_modern = script == "node_client_2.mjs"
    assert (seen["missing"], seen["unknown"]) == (-32602 if is_modern else -32002, -32602)
    if not is_modern:
        assert seen["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
        assert (seen["panes"], seen["told"]) == (1, seen["uri"])
