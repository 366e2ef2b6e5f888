"""What ships with the program: a Claude Code plugin with agent and skills, a bundle, a registry entry."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from muxpilot.cli.arguments import build_parser
from muxpilot.config.scope import Scope
from muxpilot.dialects import dialect_of
from muxpilot.mcp_clients.table import CLIENTS
from muxpilot.tmux.servers import TmuxServers
from muxpilot.tools import TOOLS
from tests.contract.test_registry import tokens
from tests.rigs.node_programs import INSTALL_LIMIT_S, claude_code, node_programs

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
TEXTS = sorted([*ROOT.glob("skills/*/SKILL.md"), *ROOT.glob("agents/*.md")])


def read(name: str) -> Any:
    return json.loads((ROOT / name).read_text())


def head_of(path: Path) -> dict[str, str]:
    """Return the plain fields of the front matter."""
    found = re.match(r"---\n(.*?)\n---\n", path.read_text(), re.DOTALL)
    assert found is not None
    rows = (line.partition(": ") for line in found[1].splitlines() if not line.startswith(" "))
    return {name: text for name, _, text in rows}


def test_versions_are_those_of_the_project() -> None:
    bundle = tomllib.loads((ROOT / "mcpb" / "pyproject.toml").read_text())["project"]
    assert read(".claude-plugin/plugin.json")["version"] == VERSION
    assert read("mcpb/manifest.json")["version"] == bundle["version"] == VERSION
    assert bundle["dependencies"] == [f"muxpilot=={VERSION}"]
    registry = read("server.json")
    assert [registry["version"], *(row["version"] for row in registry["packages"])] == [VERSION, VERSION]


def test_the_plugin_starts_the_server_as_install_does() -> None:
    """Check that they are equal: then Claude Code, which has both, starts one."""
    [server] = read(".mcp.json")["mcpServers"].values()
    installed = CLIENTS["claude"].entry_for(["muxpilot"], is_user=False)
    assert {"type": "stdio", **server} == installed
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", read(".claude-plugin/plugin.json")["name"])


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.parent.name + "/" + path.name)
def test_a_skill_or_agent_says_what_it_is_for(path: Path) -> None:
    head = head_of(path)
    name = path.stem if path.parent.name == "agents" else path.parent.name
    assert head["name"] == name
    assert 40 < len(head["description"]) <= 1024
    assert "Use it when" in head["description"]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.parent.name + "/" + path.name)
def test_every_tool_that_a_text_names_is_there(path: Path) -> None:
    dialect = dialect_of(Scope.DEBUG, TmuxServers("/tmp/mx-none/s"))
    assert dialect is not None
    known = {tool.name for tool in TOOLS if tool.scopes} | {tool.exposed_name for tool in dialect.tools}
    named = set(re.findall(r"`([a-z]+(?:[-_][a-z]+)+)`", path.read_text()))
    assert named
    assert named <= known


def test_the_skill_of_the_command_line_is_short_and_names_commands_that_there_are() -> None:
    text = (ROOT / "skills" / "terminal-cli" / "SKILL.md").read_text()
    assert tokens(text) < 700
    shown = re.findall(r"`muxpilot ([a-z]+ [^`]+)`", text)
    assert len(shown) > 7
    for line in shown:
        build_parser().parse_args(shlex.split(line))


def test_the_agent_carries_the_debug_scope_itself() -> None:
    """Check that only the agent loads the tools."""
    text = (ROOT / "agents" / "tmux-debug.md").read_text()
    assert 'args: ["--scope", "debug"]' in text
    assert "debug" not in (ROOT / ".mcp.json").read_text()


def test_the_registry_entry_keeps_the_registrys_rules() -> None:
    entry = read("server.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert len(entry["description"]) <= 100
    scopes = entry["packages"][0]["packageArguments"][0]
    assert scopes["choices"] == [scope.value for scope in Scope]


# The registry's own program carries the schemas that it has published.
REGISTRY = "github.com/modelcontextprotocol/registry@v1.8.7"
_ENVIRONMENT = dict(os.environ)  # read at import: fixtures give each test a HOME of its own


def fetch_schema(address: str) -> Any:
    """Fetch a schema from its address, or else from the registry's source with Go."""
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)
    except (OSError, HTTPException, ValueError) as error:  # also half an answer, or somebody else's
        reason = f"the schema cannot be fetched: {error}"
    try:
        argv = ["go", "mod", "download", "-json", REGISTRY]
        done = subprocess.run(argv, capture_output=True, check=True, timeout=50, env=_ENVIRONMENT, cwd="/")
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"{reason}; {error}")
    folder = Path(json.loads(done.stdout)["Dir"], "internal/validators/schemas")
    schemas = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    return next(schema for schema in schemas if schema["$id"] == address)


@pytest.mark.timeout(180)  # the network's time, twice
def test_the_registry_entry_keeps_its_published_schema() -> None:
    entry = read("server.json")
    jsonschema.validate(entry, fetch_schema(entry["$schema"]))


def test_the_package_says_which_registry_entry_is_its_own() -> None:
    """Check the line that the registry looks for on PyPI."""
    assert f"mcp-name: {read('server.json')['name']}" in (ROOT / "README.md").read_text()


@pytest.mark.timeout(2 * INSTALL_LIMIT_S)
def test_the_bundle_is_valid_and_packs(tmp_path: Path) -> None:
    programs = node_programs()
    if isinstance(programs, str):
        pytest.skip(programs)
    modules = programs / "node_modules"
    cli = [str(modules / ".bin/node"), str(modules / "@anthropic-ai/mcpb/dist/cli/cli.js")]
    folder = tmp_path / "bundle"
    shutil.copytree(ROOT / "mcpb", folder)
    for argv in (
        ("validate", str(folder / "manifest.json")),
        ("pack", str(folder), str(tmp_path / "x.mcpb")),
    ):
        done = subprocess.run([*cli, *argv], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "x.mcpb").stat().st_size > 500


@pytest.fixture
def claude(tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs Claude Code with an empty home and returns its output."""
    programs = claude_code()
    if isinstance(programs, str):
        pytest.skip(programs)
    scripts = Path(sys.executable).parent
    env = {"HOME": str(tmp_path), "PATH": f"{scripts}:{os.environ['PATH']}", "TMUX_TMPDIR": str(tmp_path)}

    def run(*argv: str) -> str:
        done = subprocess.run(
            [programs / "node_modules/.bin/claude", *argv],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
            env=env,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.timeout(2 * INSTALL_LIMIT_S)
@pytest.mark.parametrize("manifest", ["plugin.json", "marketplace.json"])
def test_the_plugin_is_valid_by_claudes_own_word(claude: Callable[..., str], manifest: str) -> None:
    assert "passed" in claude("plugin", "validate", "--strict", str(ROOT / ".claude-plugin" / manifest))


@pytest.mark.timeout(2 * INSTALL_LIMIT_S)
def test_the_plugin_installs_and_its_server_answers_claude(
    claude: Callable[..., str], tmp_path: Path
) -> None:
    """Check that all parts are found, and that the main conversation lacks the tools of scope debug."""
    repository = tmp_path / "repository"
    repository.mkdir()
    shutil.copy(ROOT / ".mcp.json", repository)
    for part in (".claude-plugin", "agents", "hooks", "skills"):
        shutil.copytree(ROOT / part, repository / part)
    claude("plugin", "marketplace", "add", str(repository))
    claude("plugin", "install", "muxpilot@muxpilot")
    details = claude("plugin", "details", "muxpilot")
    assert all(
        part in details
        for part in ("driving-tmux", "large-buffers", "terminal-cli", "tmux-debug", "PostToolUse")
    )
    servers = claude("mcp", "list")
    assert re.search(r"plugin:muxpilot:muxpilot: muxpilot +- .*Connected", servers)
    assert "--scope debug" not in servers
